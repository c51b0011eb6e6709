// Paths that more than one build script uses.

import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const dist = path.join(root, "dist");
export const build = path.join(root, "build");

/** The files that headwise/inline contains. The wasm step makes them, the bundle step uses them. */
export const inlineModule = {
  glue: path.join(build, "inline-module/glue.js"),
  wasm: path.join(build, "inline-module/wasm.js"),
};
