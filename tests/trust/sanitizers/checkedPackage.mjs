// The package's own tests on a module that checks its accesses to memory.

import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { findToolchain } from "../../../cpp/toolchain/emscripten.mjs";
import { configure } from "../../../web/build/cmake.mjs";
import { build, root } from "../../../web/build/paths.mjs";
import { publishChecked } from "../../../web/build/wasm.mjs";
import { jest, plainFlags } from "../programs.mjs";
import { copyTree, linkTo } from "../tree.mjs";

/** Every operation of the wasm engine, with the cases, random calls and hostile arguments. */
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
];

/** SAFE_HEAP: every access to memory and every use of the stack. */
export const checkedPackageTests = (folder) =>
  testsOn(folder, {
    preset: "wasm",
    target: "headwise.simd.checked",
    linked: "checked",
    files: [...FILES, "refusedMemory"],
  });

/** Tests that need a small memory. */
const SMALL_MEMORY = ["createAttention: ", "gives? (its|their) memory back", "frees its memory", "beyond the memory"];

/**
 * The address and undefined-behaviour sanitizers. They keep a byte for every eight of the largest memory, 512 MiB of 4 GiB,
 * so the package must make a larger memory.
 */
export const sanitizedPackageTests = (folder) =>
  testsOn(folder, {
    preset: "wasm-asan",
    target: "headwise.simd",
    linked: "shipped",
    files: FILES,
    initialMiB: 640,
    without: SMALL_MEMORY,
  });

/**
 * @param {string} folder - of the row, for the report
 * @param {object} module
 * @param {string} module.preset - of CMake, and the folder of its build
 * @param {string} module.target - links the module
 * @param {string} module.linked - where it is in the build
 * @param {string[]} module.files - of the tests
 * @param {number} [module.initialMiB] - memory that the module needs at first
 * @param {string[]} [module.without] - patterns of the names of tests that are skipped
 * @returns the counts of counts.mjs
 */
async function testsOn(folder, { preset, target, linked, files, initialMiB, without = [] }) {
  const program = await configure(preset, { toolchain: findToolchain() });
  await program.build(target);
  const copy = path.join(build, "checked", preset);
  copyTree(copy, ["."]);
  for (const name of ["node_modules", "build/inline-module"]) linkTo(copy, name);
  cpSync(path.join(root, "dist"), path.join(copy, "dist"), { recursive: true });
  publishChecked(path.join(build, preset, linked), path.join(copy, "dist/wasm"));
  if (initialMiB)
    for (const name of ["index", "worker-entry"]) enlarge(path.join(copy, `dist/${name}.node.js`), initialMiB);
  const patterns = files.map((name) => `tests/web/${name}\\.test`);
  const names = without.length > 0 ? [`--testNamePattern=^(?!.*(${without.join("|")}))`] : [];
  const more = ["--testTimeout=1800000", "--maxWorkers=100%", ...names];
  return jest(path.join(folder, preset), patterns, {}, more, { cwd: copy, flags: plainFlags });
}

/** Changes how large the memory is that a bundle of the package makes. */
function enlarge(file, initialMiB) {
  const text = readFileSync(file, "utf8");
  const larger = text.replace(
    "initial: INITIAL_MEMORY / PAGE_BYTES",
    `initial: (${initialMiB} * 2 ** 20) / PAGE_BYTES`,
  );
  if (larger === text) throw new Error(`${file} makes its memory in another way than before`);
  writeFileSync(file, larger);
}
