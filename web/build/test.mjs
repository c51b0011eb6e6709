// npm test: runs every test of the repository, also in a bare clone. The last line is "N passed, N failed, N skipped".
// A stage that has passed runs again only if its inputs have changed; otherwise its counts are repeated with
// "(cached)".
//
//   npm test -- --quick            without the sanitizers and the fuzzers
//   npm test -- --deep             with more random calls on WebGPU (HEADWISE_DEEP=1)
//   npm test -- --whole            with every bundler and engine that users may have, as in CI (npm run test:package: only these)
//   npm test -- --only=jest        some stages: lint, native, wasm, asan, tsan, fuzz, jest, webgpu, browser, package, consumers
//                                  (comma-separated)
//   npm test -- --busy             with one process for each core that keeps it busy; nothing from the cache
//   npm test -- --fresh            nothing from the cache, as in CI
//   npm test -- --hunt=10          ten minutes of fuzzing with a new seed, and nothing else

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

import { setUp } from "../../cpp/toolchain/setup.mjs";
import { burnAllCores } from "./busy.mjs";
import { add, googleTestCounts, jestCounts, nothing, oneFailed, sentence } from "./counts.mjs";
import { lintWeb } from "./lint.mjs";
import { lintCpp } from "./lintCpp.mjs";
import { installConsumers } from "./packages.mjs";
import { build, root } from "./paths.mjs";
import { ended, run, say, start, useGroups } from "./run.mjs";
import { runStage, runStages, WATCHDOG_MINUTES } from "./stages.mjs";
import { digestOf } from "./stale.mjs";
import { wasmTests } from "./wasmTests.mjs";

const results = path.join(build, "test-results");
const shards = [...Array(Math.min(availableParallelism(), 8)).keys()];

/** The tests of threads: the thread pool, and the whole case table, which runs on one to four threads. */
const THREADED =
  "ThreadPool.*:Threads.*:*DoNotDependOnThreads:*HaveTheSameBitsForEveryNumberOfThreads/*:Backward.HasTheSameBits*:FormulaPrograms.GiveTheSameBits*:KvCache.StoresTheSameBits*:Table/EveryCase*";

/** Files that every C++ test, every test of the package and every linter may depend on. */
const CORE = ["cpp", "tests/cpp", "tests/cases", "CMakeLists.txt", "CMakePresets.json", "web/build"];
const DOCUMENTS = ["README.md", "CONTRIBUTING.md"];
const PACKAGE = [...CORE, ...DOCUMENTS, "web", "tests", "../shared/cases", "package.json", "package-lock.json"];
const LINTED = [
  ...PACKAGE,
  ".clang-format",
  ".clang-tidy",
  "eslint.config.js",
  ".prettierrc.json",
  ".prettierignore",
  ".github",
  ".changeset",
];

/**
 * All stages in their order. `minutes` is the budget: a little more than the stage takes on a quiet machine with
 * two cores. A stage over its budget is reported; a stage that takes three times its budget is ended. `reads` are the
 * files on which its result depends. All stages together take 38 to 70 minutes.
 */
const stagesOf = (hunt) => [
  { name: "lint", minutes: 5, reads: LINTED, run: async () => [await lintWeb(), await lintCpp()].reduce(add) },
  { name: "native", minutes: 4, reads: CORE, run: () => nativeTests("release") },
  { name: "wasm", minutes: 4, reads: CORE, run: wasmTests },
  { name: "asan", minutes: 8, reads: CORE, run: () => nativeTests("asan"), slow: true },
  { name: "tsan", minutes: 4, reads: CORE, run: () => nativeTests("tsan", THREADED), slow: true },
  { name: "fuzz", minutes: 4 + hunt, reads: CORE, run: () => fuzz(hunt), slow: true },
  {
    name: "jest",
    minutes: 8,
    reads: PACKAGE,
    run: () => jest("jest", ["tests/(web|bench|conformance)/"], ON_ALL_CORES),
  },
  { name: "webgpu", minutes: 8, reads: PACKAGE, run: () => jest("webgpu", ["tests/webgpu/"], ON_ALL_CORES) },
  { name: "browser", minutes: 12, reads: PACKAGE, run: () => jest("browser", ["tests/browser/"]) },
  { name: "package", minutes: 4, reads: PACKAGE, run: () => jest("package", ["tests/package/quick/"], ON_ALL_CORES) },
  { name: "consumers", minutes: 10, reads: PACKAGE, run: consumers, isExtra: true },
];

/** The build comes before all stages. It may be slow, because it downloads the toolchain and packages. */
const BUILD = { name: "build", minutes: 8, hangsAfter: 20, run: buildPackage, isNeeded: true };

async function buildPackage() {
  await run(process.execPath, ["cpp/toolchain/setup.mjs", "--all"]);
  await run(process.execPath, ["web/build/build.mjs"]);
  return nothing;
}

async function nativeTests(preset, filter = "*") {
  // Warnings are errors with the compiler that builds the release.
  const strict = process.env.CI && preset === "release";
  const configure = ["--preset", preset, ...(strict ? ["-DHEADWISE_WERROR=ON"] : [])];
  await run("cmake", configure, { quiet: true });
  const status = await statusOf("cmake", ["--build", path.join(build, preset), "--parallel"]);
  if (status !== 0) throw new Error(`${preset}: does not build`);
  const counts = await Promise.all(shards.map((shard) => runShard(preset, filter, shard)));
  return counts.reduce(add);
}

/** GoogleTest divides its tests among processes, one for each core. */
async function runShard(preset, filter, shard) {
  const report = path.join(results, `${preset}.${shard}.json`);
  const program = path.join(build, preset, "tests/cpp/headwise_tests");
  const env = { ...process.env, GTEST_TOTAL_SHARDS: String(shards.length), GTEST_SHARD_INDEX: String(shard) };
  const args = [`--gtest_filter=${filter}`, `--gtest_output=json:${report}`, "--gtest_brief=1"];
  const status = await statusOf(program, args, env);
  return judged(googleTestCounts(report), status);
}

const FUZZERS = ["fuzz_attention", "fuzz_kv_cache"];

/**
 * One minute of libFuzzer for each target, all at the same time, beginning with its corpus. A target that finds an
 * error fails. The seed is always the same, so that the result depends only on the commit; a hunt has a new seed.
 */
async function fuzz(hunt) {
  await run("cmake", ["--preset", "fuzz"], { quiet: true });
  const folder = path.join(build, "fuzz");
  if ((await statusOf("cmake", ["--build", folder, "--parallel", "--target", ...FUZZERS])) !== 0) {
    throw new Error("fuzz: does not build");
  }
  const verdicts = await Promise.all(FUZZERS.map((name) => fuzzOne(folder, name, hunt)));
  return verdicts.reduce(add);
}

/** An input that takes longer, in seconds, counts as hanging and is kept. Inputs usually take milliseconds. */
const INPUT_HANGS_AFTER = 120;

async function fuzzOne(folder, name, hunt) {
  const finds = path.join(results, name);
  mkdirSync(finds, { recursive: true });
  const time = hunt > 0 ? [`-max_total_time=${60 * hunt}`] : ["-max_total_time=60", "-seed=1"];
  const limits = [...time, `-timeout=${INPUT_HANGS_AFTER}`, "-max_len=600", "-len_control=0", "-verbosity=0"];
  const corpora = [finds, path.join("tests/cpp/corpus", name)].filter((corpus) => existsSync(corpus));
  const args = [...limits, `-artifact_prefix=${finds}/`, ...corpora];
  const status = await statusOf(path.join(folder, "tests/cpp", name), args);
  if (status !== 0) say(`${name}: found something, see ${path.relative(root, finds)}`);
  return status === 0 ? { ...nothing, passed: 1 } : oneFailed;
}

/** Jest leaves one core free unless it is told not to. A browser needs that core. */
const ON_ALL_CORES = ["--maxWorkers=100%"];

async function jest(name, patterns, more = []) {
  const report = path.join(results, `${name}.json`);
  const engine = ["--experimental-vm-modules", "--no-warnings=ExperimentalWarning"];
  // Node 20 needs a flag for relaxed SIMD. Without it the relaxed variant would not be tested.
  if (Number(process.versions.node.split(".")[0]) < 22) engine.push("--experimental-wasm-relaxed-simd");
  const config = ["--config", "tests/jest.config.mjs", "--json", `--outputFile=${report}`];
  const status = await statusOf(process.execPath, [
    ...engine,
    "node_modules/jest/bin/jest.js",
    ...config,
    ...more,
    ...patterns,
  ]);
  return judged(jestCounts(report), status);
}

/**
 * Runs the packed package with all tools and engines that users may have. Tests of what cannot be installed are
 * skipped.
 */
async function consumers() {
  await installConsumers();
  await setUp(["firefox"]).catch((error) => say(`without Firefox: ${error.message}`));
  return jest("consumers", ["tests/package/matrix/"], ON_ALL_CORES);
}

/** A runner without failed tests that still exits with an error (a leak at exit, a crash) has failed. */
const judged = (counts, status) => (status !== 0 && counts.failed === 0 ? add(counts, oneFailed) : counts);

/** Runs a program of a stage and shows its output. */
const statusOf = (program, args, env = process.env) =>
  ended(start(program, args, { env, stdio: ["ignore", "inherit", "inherit"] }));

/**
 * The counts of a stage: those of its last run if it passed and its inputs are the same, otherwise those of a new run.
 */
async function countsOf(stage, { isFresh, deep: isDeep }) {
  if (!stage.reads) return runStage(stage);
  const stamp = path.join(build, "stamps", `test-${stage.name}.json`);
  const digest = `${process.version} ${isDeep ? "deep " : ""}${digestOf(stage.reads)}`;
  const last = existsSync(stamp) ? JSON.parse(readFileSync(stamp, "utf8")) : undefined;
  if (!isFresh && last?.digest === digest) {
    console.log(`=== ${stage.name}: ${sentence(last.counts)} (cached: nothing it reads has changed)`);
    return last.counts;
  }
  rmSync(stamp, { force: true });
  const counts = await runStage(stage);
  mkdirSync(path.dirname(stamp), { recursive: true });
  if (counts.failed === 0) writeFileSync(stamp, JSON.stringify({ digest, counts }));
  return counts;
}

function readOptions() {
  const flag = { type: "boolean", default: false };
  const text = { type: "string" };
  const options = {
    quick: flag,
    deep: flag,
    whole: flag,
    busy: flag,
    fresh: flag,
    only: text,
    hunt: { ...text, default: "0" },
  };
  const { values } = parseArgs({ options });
  const hunt = Number(values.hunt);
  if (!(hunt >= 0)) throw new Error(`--hunt: must be minutes, got ${values.hunt}`);
  const isFresh = values.fresh || values.busy || hunt > 0 || Boolean(process.env.CI);
  return { ...values, hunt, isFresh };
}

function chosenStages({ hunt, only, quick, whole }) {
  const stages = stagesOf(hunt);
  if (hunt > 0) return stages.filter(({ name }) => name === "fuzz");
  const names = only?.split(",");
  const unknown = names?.filter((name) => !stages.some((stage) => stage.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`--only: no stage ${unknown.join(", ")}`);
  if (names) return stages.filter(({ name }) => names.includes(name));
  return stages.filter(({ slow, isExtra }) => !(slow && quick) && !(isExtra && !whole));
}

let total = nothing;
try {
  const options = readOptions();
  const stages = [BUILD, ...chosenStages(options)];
  useGroups();
  if (options.deep) process.env.HEADWISE_DEEP = "1"; // for every stage; tests/webgpu/deep.ts reads it
  if (options.busy) burnAllCores();
  rmSync(results, { recursive: true, force: true });
  mkdirSync(results, { recursive: true });
  total = await runStages(stages, {
    countsOf: (stage) => countsOf(stage, options),
    watchdogMinutes: WATCHDOG_MINUTES + options.hunt,
  });
} catch (error) {
  say(error.message);
  total = add(total, oneFailed);
}
console.log(`\n${sentence(total)}`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1); // also ends hanging programs and busy processes
