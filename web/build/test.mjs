// npm test: every test of the repository, from a bare clone. The last line is "N passed, N failed, N skipped".
// A stage that passed is not run again before something it reads has changed: its counts are repeated, as "(cached)".
//
//   npm test -- --quick            without the sanitizer runs and the fuzzers
//   npm test -- --whole            with every bundler and engine that users may have, as in CI (npm run test:package: these)
//   npm test -- --only=jest        some stages: native, asan, tsan, fuzz, jest, webgpu, browser, package, consumers (comma-separated)
//   npm test -- --fresh            nothing from the cache; so it is in CI
//   npm test -- --hunt=10          ten minutes of fuzzing with a new seed, and nothing else

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";

import { setUp } from "../../cpp/toolchain/setup.mjs";
import { buildAll } from "./build.mjs";
import { add, googleTestCounts, jestCounts, nothing, oneFailed, sentence } from "./counts.mjs";
import { installConsumers } from "./packages.mjs";
import { build, root } from "./paths.mjs";
import { ended, run, say } from "./run.mjs";
import { digestOf } from "./stale.mjs";

const results = path.join(build, "test-results");
const args = process.argv.slice(2);
const fresh = args.includes("--fresh") || Boolean(process.env.CI);
const hunt = Number(args.find((arg) => arg.startsWith("--hunt="))?.slice("--hunt=".length) ?? 0);
const shards = [...Array(Math.min(availableParallelism(), 8)).keys()];

/** Everything that threads do: the pool itself, and the whole case table, which runs on one to four of them. */
const THREADED = "ThreadPool.*:Threads.*:LayerBits.DoNotDependOnThreads:KvCache.StoresTheSameBits*:Table/EveryCase*";

/** What every test in C++, and every test of the package, may depend on. */
const CORE = ["cpp", "tests/cpp", "tests/cases", "CMakeLists.txt", "CMakePresets.json", "web/build"];
const PACKAGE = [...CORE, "web", "tests", "../shared/cases", "package.json", "package-lock.json", "README.md"];

/**
 * In the order they run. `minutes` is the budget: a stage that takes longer is stopped and counts as failed; `reads` is
 * what its verdict depends on. The budgets add up to 45, two to four times what a quiet machine of two cores takes.
 */
const STAGES = [
  { name: "native", minutes: 4, reads: CORE, run: () => nativeTests("release") },
  { name: "asan", minutes: 7, reads: CORE, run: () => nativeTests("asan"), slow: true },
  { name: "tsan", minutes: 3, reads: CORE, run: () => nativeTests("tsan", THREADED), slow: true },
  { name: "fuzz", minutes: 4 + hunt, reads: CORE, run: fuzz, slow: true },
  { name: "jest", minutes: 4, reads: PACKAGE, run: () => jest("jest", ["tests/(web|conformance)/"]) },
  { name: "webgpu", minutes: 6, reads: PACKAGE, run: () => jest("webgpu", ["tests/webgpu/"]) },
  { name: "browser", minutes: 5, reads: PACKAGE, run: () => jest("browser", ["tests/browser/"]) },
  { name: "package", minutes: 3, reads: PACKAGE, run: () => jest("package", ["tests/package/quick/"]) },
  { name: "consumers", minutes: 9, reads: PACKAGE, run: consumers, isExtra: true },
];

const FUZZERS = ["fuzz_attention", "fuzz_kv_cache"];

let deadline = Infinity;

async function nativeTests(preset, filter = "*") {
  // Not with sanitizers: GCC takes what they insert for mistakes of ours.
  const strict = process.env.CI && preset === "release";
  const configure = ["--preset", preset, ...(strict ? ["-DHEADWISE_WERROR=ON"] : [])];
  await run("cmake", configure, { quiet: true });
  const status = await inTime("cmake", ["--build", path.join(build, preset), "--parallel"]);
  if (status !== 0) throw new Error(`${preset}: does not build`);
  const counts = await Promise.all(shards.map((shard) => runShard(preset, filter, shard)));
  return counts.reduce(add);
}

/** GoogleTest deals its tests out over processes, one for each core. */
async function runShard(preset, filter, shard) {
  const report = path.join(results, `${preset}.${shard}.json`);
  const program = path.join(build, preset, "tests/cpp/headwise_tests");
  const env = { ...process.env, GTEST_TOTAL_SHARDS: String(shards.length), GTEST_SHARD_INDEX: String(shard) };
  const args = [`--gtest_filter=${filter}`, `--gtest_output=json:${report}`, "--gtest_brief=1"];
  const status = await inTime(program, args, env);
  return judged(googleTestCounts(report), status);
}

/**
 * A minute of libFuzzer for each target, side by side, from its corpus. A find ends the target with an error. The seed is
 * the same each time, so that the verdict is about the commit; a hunt has a new one.
 */
async function fuzz() {
  await run("cmake", ["--preset", "fuzz"], { quiet: true });
  const folder = path.join(build, "fuzz");
  if ((await inTime("cmake", ["--build", folder, "--parallel", "--target", ...FUZZERS])) !== 0) {
    throw new Error("fuzz: does not build");
  }
  const verdicts = await Promise.all(FUZZERS.map((name) => fuzzOne(folder, name)));
  return verdicts.reduce(add);
}

async function fuzzOne(folder, name) {
  const finds = path.join(results, name);
  mkdirSync(finds, { recursive: true });
  const time = hunt > 0 ? [`-max_total_time=${60 * hunt}`] : ["-max_total_time=60", "-seed=1"];
  const limits = [...time, "-max_len=600", "-len_control=0", "-verbosity=0", `-artifact_prefix=${finds}/`];
  const corpora = [finds, path.join("tests/cpp/corpus", name)].filter((corpus) => existsSync(corpus));
  const status = await inTime(path.join(folder, "tests/cpp", name), [...limits, ...corpora]);
  if (status !== 0) say(`${name}: found something, see ${path.relative(root, finds)}`);
  return status === 0 ? { ...nothing, passed: 1 } : oneFailed;
}

async function jest(name, patterns) {
  const report = path.join(results, `${name}.json`);
  const engine = ["--experimental-vm-modules", "--no-warnings=ExperimentalWarning"];
  // Node 20 has relaxed SIMD behind a flag; without it the faster variant would go untested there.
  if (Number(process.versions.node.split(".")[0]) < 22) engine.push("--experimental-wasm-relaxed-simd");
  const config = ["--config", "tests/jest.config.mjs", "--json", `--outputFile=${report}`];
  const status = await inTime(process.execPath, [...engine, "node_modules/jest/bin/jest.js", ...config, ...patterns]);
  return judged(jestCounts(report), status);
}

/** Everything that users may run headwise with, on the packed package. Tests of what cannot be installed are skipped. */
async function consumers() {
  await installConsumers();
  await setUp(["firefox"]).catch((error) => say(`without Firefox: ${error.message}`));
  return jest("consumers", ["tests/package/matrix/"]);
}

/** A runner that found nothing wrong and still ended badly (a leak seen at exit, a crash) has failed. */
const judged = (counts, status) => (status !== 0 && counts.failed === 0 ? add(counts, oneFailed) : counts);

/** Runs a program of a stage, in sight, until the stage's time is up. Returns its exit status. */
async function inTime(program, args, env = process.env) {
  const child = spawn(program, args, { cwd: root, env, stdio: ["ignore", "inherit", "inherit"], detached: true });
  const stopAll = () => process.kill(-child.pid, "SIGKILL"); // with everything it started
  const timer = setTimeout(stopAll, deadline - Date.now());
  process.once("exit", stopAll);
  const status = await ended(child);
  clearTimeout(timer);
  process.off("exit", stopAll);
  if (Date.now() >= deadline) throw new Error("stopped: over its budget");
  return status;
}

async function runStage(stage) {
  console.log(`\n=== ${stage.name} (budget ${stage.minutes} min)`);
  const started = Date.now();
  deadline = started + stage.minutes * 60_000;
  let counts;
  try {
    counts = await stage.run();
  } catch (error) {
    say(error.message);
    counts = oneFailed;
  }
  console.log(`=== ${stage.name}: ${sentence(counts)}, ${((Date.now() - started) / 60_000).toFixed(1)} min`);
  return counts;
}

/** The counts of the stage: those of its last run, if it passed and reads the same as then; else of a run now. */
async function countsOf(stage) {
  const stamp = path.join(build, "stamps", `test-${stage.name}.json`);
  const digest = `${process.version} ${digestOf(stage.reads)}`;
  const last = existsSync(stamp) ? JSON.parse(readFileSync(stamp, "utf8")) : undefined;
  if (!fresh && !hunt && last?.digest === digest) {
    console.log(`=== ${stage.name}: ${sentence(last.counts)} (cached: nothing it reads has changed)`);
    return last.counts;
  }
  rmSync(stamp, { force: true });
  const counts = await runStage(stage);
  mkdirSync(path.dirname(stamp), { recursive: true });
  if (counts.failed === 0) writeFileSync(stamp, JSON.stringify({ digest, counts }));
  return counts;
}

function chosenStages() {
  if (hunt > 0) return STAGES.filter(({ name }) => name === "fuzz");
  const only = args.find((arg) => arg.startsWith("--only="))?.slice("--only=".length).split(",");
  const unknown = only?.filter((name) => !STAGES.some((stage) => stage.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`no such stage: ${unknown.join(", ")}`);
  if (only) return STAGES.filter(({ name }) => only.includes(name));
  const left = [args.includes("--quick") && "slow", !args.includes("--whole") && "isExtra"];
  return STAGES.filter((stage) => !left.some((kind) => stage[kind]));
}

// Stages run in process groups of their own, which Ctrl-C does not reach: leaving by exit() ends them.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

let total = nothing;
try {
  const stages = chosenStages();
  rmSync(results, { recursive: true, force: true });
  mkdirSync(results, { recursive: true });
  await setUp(["wasm", "native", "browser"]);
  await buildAll();
  for (const stage of stages) total = add(total, await countsOf(stage));
} catch (error) {
  say(error.message);
  total = add(total, oneFailed);
}
console.log(`\n${sentence(total)}`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
