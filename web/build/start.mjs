// npm start: builds everything in a bare clone and starts the demo. Progress goes to stderr, and only the demo writes
// to stdout.

import { spawn } from "node:child_process";
import path from "node:path";

import { buildToRun } from "./build.mjs";
import { root } from "./paths.mjs";
import { ended, say } from "./run.mjs";

try {
  await buildToRun();
  const demo = spawn(process.execPath, [path.join(root, "dist-demo/cli.js"), ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  // The terminal sends Ctrl-C to the demo too. Other signals reach only this process, so it passes them on.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => demo.kill(signal));
  const status = await ended(demo);
  process.exitCode = typeof status === "number" ? status : 1;
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
