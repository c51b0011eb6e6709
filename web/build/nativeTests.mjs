// Runs the C++ tests natively.

import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";

import { configure } from "./cmake.mjs";
import { add, googleTestCounts, oneFailed } from "./counts.mjs";
import { build, root } from "./paths.mjs";
import { ended, start } from "./run.mjs";

const results = path.join(build, "test-results");
const shards = [...Array(Math.min(availableParallelism(), 8)).keys()];

/** The tests of threads. */
export const THREADED =
  "ThreadPool.*:Threads.*:*DoNotDependOnThreads:*HaveTheSameBitsForEveryNumberOfThreads/*:Backward.HasTheSameBits*:FormulaPrograms.GiveTheSameBits*:KvCache.StoresTheSameBits*";

/** Tests of threads, in a program that has no other file: the compiler takes longer than they run. */
export const threadTests = () => nativeTests("tsan", THREADED, filesOf(THREADED));

/** The whole case table: results on one to four threads, gradients, isolation. */
export const TABLE = "Table/EveryCase*:Table/Isolation*:Table/BackwardCases*:Table/BackwardIsolation*";

const tests = path.join(root, "tests/cpp");

/**
 * The files in which a filter of GoogleTest finds tests. Every pattern must find one.
 *
 * @param {string} filter - patterns of names, without those that it excludes
 */
export function filesOf(filter) {
  const sources = readdirSync(tests)
    .filter((file) => /^test_.*\.cpp$/.test(file))
    .map((file) => ({ file, names: namesIn(readFileSync(path.join(tests, file), "utf8")) }));
  const found = filter.split(":").flatMap((pattern) => {
    // A test with parameters is called Table/Suite.Name/0.
    const name = new RegExp(`^${pattern.replace(/\/\*$/, "").replaceAll(".", "\\.").replaceAll("*", ".*")}$`);
    const files = sources.filter(({ names }) => names.some((one) => name.test(one))).map(({ file }) => file);
    if (files.length === 0) throw new Error(`no file of tests/cpp/ has a test ${pattern}`);
    return files;
  });
  return [...new Set(found)].sort();
}

const namesIn = (text) =>
  [...text.matchAll(/\bTEST(?:_P|_F)?\(\s*(\w+),\s*(\w+)\)/g)].map(([, suite, name]) => `${suite}.${name}`);

/**
 * Builds a preset and runs its tests.
 *
 * @param {string} preset - of CMakePresets.json
 * @param {string} [filter] - of GoogleTest
 * @param {string[]} [files] - with tests; all where it is empty
 * @returns the counts of counts.mjs
 */
export async function nativeTests(preset, filter = "*", files = []) {
  // Warnings are errors with the compiler that builds the release.
  const strict = process.env.CI && preset === "release" ? ["-DHEADWISE_WERROR=ON"] : [];
  const program = await configure(preset, { options: [...strict, `-DHEADWISE_TEST_FILES=${files.join(";")}`] });
  await program.build("headwise_tests");
  const counts = await Promise.all(shards.map((shard) => runShard(preset, filter, shard)));
  return counts.reduce(add);
}

/** GoogleTest divides its tests among processes, one for each core. */
async function runShard(preset, filter, shard) {
  mkdirSync(results, { recursive: true });
  const report = path.join(results, `${preset}.${shard}.json`);
  const program = path.join(build, preset, "tests/cpp/headwise_tests");
  const env = { ...process.env, GTEST_TOTAL_SHARDS: String(shards.length), GTEST_SHARD_INDEX: String(shard) };
  if (preset !== "release") env.HEADWISE_FEWER ??= "10"; // see tests/cpp/harness.h
  const args = [`--gtest_filter=${filter}`, `--gtest_output=json:${report}`, "--gtest_brief=1"];
  const status = await statusOf(program, args, env);
  return judged(googleTestCounts(report), status);
}

/** A runner without failed tests that still exits with an error (a leak at exit, a crash) has failed. */
export const judged = (counts, status) => (status !== 0 && counts.failed === 0 ? add(counts, oneFailed) : counts);

/** Runs a program of a stage and shows its output. */
export const statusOf = (program, args, env = process.env) =>
  ended(start(program, args, { env, stdio: ["ignore", "inherit", "inherit"] }));
