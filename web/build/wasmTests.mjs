// Runs the C++ tests as WebAssembly in Node: the same programs as natively, for both variants of the instruction set.

import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";

import { findToolchain } from "../../cpp/toolchain/emscripten.mjs";
import { configure } from "./cmake.mjs";
import { add, googleTestCounts, oneFailed } from "./counts.mjs";
import { build } from "./paths.mjs";
import { ended, start } from "./run.mjs";

const VARIANTS = ["simd", "relaxed"];

/**
 * Builds the tests in the folder of the modules, whose objects they link, and runs both variants at the same time.
 *
 * @returns the counts of counts.mjs
 */
export const wasmTests = () => testsOf("wasm", "wasm_tests", VARIANTS);

/** Tests of formulas take as long as all others together. */
const HALVES = ["Formula*", "-Formula*"];

/** The same for plain SIMD, with a check of every access to memory and every use of the stack. */
export const checkedWasmTests = () => testsOf("wasm", "headwise_tests.checked", ["checked"], HALVES);

/** The same for plain SIMD, with the address and undefined-behaviour sanitizers. */
export const sanitizedWasmTests = () => testsOf("wasm-asan", "headwise_tests.simd", ["simd"], HALVES);

async function testsOf(preset, target, programs, filters = ["*"]) {
  const program = await configure(preset, { toolchain: findToolchain(), options: ["-DHEADWISE_TESTS=ON"] });
  await program.build(target);
  const runs = programs.flatMap((name) => filters.map((filter) => runTests(preset, name, filter)));
  const counts = await Promise.all(runs);
  return counts.reduce(add);
}

async function runTests(preset, name, filter) {
  const results = path.join(build, "test-results");
  mkdirSync(results, { recursive: true });
  const report = path.join(results, `${preset}.${name}${filter.replace("*", "")}.json`);
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
