// npm start: builds what the first picture needs, also in a bare clone, and prints it. Then it builds the lab and serves
// it. Progress goes to stderr, and only the demo writes to stdout.

import path from "node:path";
import { pathToFileURL } from "node:url";

import { buildPage, buildPicture } from "./build.mjs";
import { root } from "./paths.mjs";
import { say } from "./run.mjs";

const args = process.argv.slice(2);

/** The module that the demo will load. Node runs relaxed SIMD from version 22 on. */
function variant() {
  const named = args.flatMap((arg, n) =>
    arg === "--variant" ? [args[n + 1]] : (/^--variant=(.*)/.exec(arg)?.[1] ?? []),
  );
  const best = Number(process.versions.node.split(".")[0]) < 22 ? "simd" : "relaxed";
  return ["simd", "relaxed"].includes(named.at(-1)) ? named.at(-1) : best;
}

try {
  await buildPicture(variant());
  const { main } = await import(pathToFileURL(path.join(root, "dist-demo/cli.js")).href);
  await main(args, buildPage);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
