// Runs the C++ tests as WebAssembly in Node: the same programs as natively, for both variants of the instruction set.

import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";

import { findToolchain } from "../../cpp/toolchain/emscripten.mjs";
import { configure } from "./cmake.mjs";
import { add, googleTestCounts, oneFailed } from "./counts.mjs";
import { TABLE } from "./nativeTests.mjs";
import { build } from "./paths.mjs";
import { ended, start } from "./run.mjs";

/**
 * Builds the tests in the folder of the modules, whose objects they link, and runs both variants at the same time. They
 * differ in their kernels only. So the case table runs once, with relaxed SIMD, and all other tests with plain SIMD.
 *
 * @returns the counts of counts.mjs
 */
export const wasmTests = () =>
  testsOf("wasm", "wasm_tests", [
    { name: "simd", filter: `-${TABLE}` },
    { name: "relaxed", filter: `${TABLE}:Tables/*` },
  ]);

/** Tests of formulas take as long as all others together. */
const halvesOf = (name) => ["Formula*", "-Formula*"].map((filter) => ({ name, filter }));

/** All for plain SIMD, with a check of every access to memory and every use of the stack. */
export const checkedWasmTests = () => testsOf("wasm", "headwise_tests.checked", halvesOf("checked"));

/** All for plain SIMD, with the address and undefined-behaviour sanitizers. */
export const sanitizedWasmTests = () => testsOf("wasm-asan", "headwise_tests.simd", halvesOf("simd"));

async function testsOf(preset, target, runs) {
  const program = await configure(preset, { toolchain: findToolchain(), options: ["-DHEADWISE_TESTS=ON"] });
  await program.build(target);
  const counts = await Promise.all(runs.map((run, n) => runTests(preset, run, n)));
  return counts.reduce(add);
}

async function runTests(preset, { name, filter }, n) {
  const results = path.join(build, "test-results");
  mkdirSync(results, { recursive: true });
  const report = path.join(results, `${preset}.${name}.${n}.json`);
  rmSync(report, { force: true });
  const program = path.join(build, preset, "tests/cpp", `headwise_tests.${name}.cjs`);
  // Node 20 needs a flag for relaxed SIMD.
  const engine = Number(process.versions.node.split(".")[0]) < 22 ? ["--experimental-wasm-relaxed-simd"] : [];
  const args = [`--gtest_output=json:${report}`, "--gtest_brief=1", `--gtest_filter=${filter}`];
  const child = start(process.execPath, [...engine, program, ...args], { stdio: ["ignore", 2, 2] });
  const status = await ended(child);
  const counts = googleTestCounts(report);
  return status !== 0 && counts.failed === 0 ? add(counts, oneFailed) : counts; // it crashed after its last test
}
