// npm start: from a bare clone to the demo. Progress goes to stderr; stdout is the demo's alone.

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
  // Ctrl-C reaches the demo by itself; a signal sent to this process alone must be passed on.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => demo.kill(signal));
  const status = await ended(demo);
  process.exitCode = typeof status === "number" ? status : 1;
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
