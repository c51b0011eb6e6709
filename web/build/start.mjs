// npm start: builds what the first picture needs, also in a bare clone, and prints it. Then it builds the lab and serves
// it. Progress goes to stderr, and only the demo writes to stdout.

import path from "node:path";
import { pathToFileURL } from "node:url";

import { HELP, parseOptions } from "../demo/cli/options.mjs";
import { buildPage, buildPicture } from "./build.mjs";
import { root } from "./paths.mjs";
import { say } from "./run.mjs";
import { UsageError } from "./usage.mjs";

const args = process.argv.slice(2);

/** The module that the demo takes of itself. Node runs relaxed SIMD from version 22 on. */
const best = Number(process.versions.node.split(".")[0]) < 22 ? "simd" : "relaxed";

async function show(variant) {
  await buildPicture(variant === "auto" ? best : variant);
  const { main } = await import(pathToFileURL(path.join(root, "dist-demo/cli.js")).href);
  await main(args, buildPage);
}

try {
  const { help, variant } = parseOptions(args);
  if (help) process.stdout.write(HELP);
  else await show(variant);
} catch (error) {
  say(error.message);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
