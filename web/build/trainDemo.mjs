// npm run train:demo: builds the package in a bare clone, and trains the models of the lab's room Generate with it.

import { spawn } from "node:child_process";
import path from "node:path";

import { HELP, parseTrainOptions } from "../demo/train/cli/options.mjs";
import { buildPackage } from "./build.mjs";
import { root } from "./paths.mjs";
import { ended, say } from "./run.mjs";

const args = process.argv.slice(2);

async function train() {
  await buildPackage();
  const { build } = await import("esbuild"); // a package that may have been installed just now
  const program = path.join(root, "dist-demo/train.js");
  await build({
    bundle: true,
    format: "esm",
    logLevel: "warning",
    absWorkingDir: root,
    entryPoints: ["web/demo/train/cli/main.ts"],
    outfile: program,
    platform: "node",
    target: "node20",
    external: ["headwise", "headwise/*", "cli-progress"],
  });
  const training = spawn(process.execPath, [program, ...args], { cwd: root, stdio: "inherit" });
  // The terminal sends Ctrl-C to the training too. Other signals reach only this process, so it passes them on.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => training.kill("SIGTERM"));
  const status = await ended(training);
  process.exitCode = typeof status === "number" ? status : 1;
}

try {
  if (parseTrainOptions(args).help) process.stdout.write(HELP);
  else await train();
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
