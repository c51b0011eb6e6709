// The places that more than one build script names.

import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const dist = path.join(root, "dist");
export const build = path.join(root, "build");

/** What headwise/inline carries inside, made by the wasm step for the bundle step. */
export const inlineModule = {
  glue: path.join(build, "inline-module/glue.js"),
  wasm: path.join(build, "inline-module/wasm.js"),
};
