// The package's own tests on a module that checks every access to memory and every use of the stack.

import { cpSync } from "node:fs";
import path from "node:path";

import { findToolchain } from "../../../cpp/toolchain/emscripten.mjs";
import { build, root } from "../../../web/build/paths.mjs";
import { run } from "../../../web/build/run.mjs";
import { publishChecked } from "../../../web/build/wasm.mjs";
import { jest, plainFlags } from "../programs.mjs";
import { copyTree, linkTo } from "../tree.mjs";

const copy = path.join(build, "checked");

/** Every operation of the wasm engine, with the cases, random calls, hostile arguments and refused memory. */
const FILES = [
  "attendInside",
  "attention",
  "backward",
  "cache",
  "formulaCalls",
  "hostile",
  "hostileElsewhere",
  "layer",
  "layerBackward",
  "layerInside",
  "linear",
  "masks",
  "position",
  "random",
  "randomCaches",
  "randomLayers",
  "randomMerges",
  "refusedMemory",
].map((name) => `tests/web/${name}\\.test`);

/**
 * @param {string} folder - of the row, for the report
 * @returns the counts of counts.mjs
 */
export async function checkedPackageTests(folder) {
  const { env } = findToolchain();
  await run("cmake", ["--preset", "wasm"], { env, quiet: true });
  await run("cmake", ["--build", path.join(build, "wasm"), "--target", "headwise.simd.checked"], { env });
  copyTree(copy, ["."]);
  for (const name of ["node_modules", "build/inline-module"]) linkTo(copy, name);
  cpSync(path.join(root, "dist"), path.join(copy, "dist"), { recursive: true });
  publishChecked(path.join(copy, "dist/wasm"));
  return jest(folder, FILES, {}, ["--testTimeout=1800000", "--maxWorkers=100%"], {
    cwd: copy,
    flags: plainFlags,
  });
}
