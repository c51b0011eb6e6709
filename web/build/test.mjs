// npm test: runs the tests, also in a bare clone. The last line is "N passed, N failed, N skipped". A stage that has passed
// runs again only if its inputs have changed; otherwise its counts are repeated with "(cached)". Three stages run beside each
// other. What they print goes to build/test-results/STAGE.log, and to the terminal if they fail.

import { randomInt } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";

import { setUp } from "../../cpp/toolchain/setup.mjs";
import { shareLab } from "../../tests/browser/sharedLab.mjs";
import { buildForTests } from "./build.mjs";
import { burnAllCores } from "./busy.mjs";
import { add, jestCounts, nothing, oneFailed, sentence, trustCounts } from "./counts.mjs";
import { FUZZERS } from "./corpus.mjs";
import { buildFuzzers, fuzzOne, keepExecutions, keepLastRuns } from "./fuzz.mjs";
import { lintWeb } from "./lint.mjs";
import { lintCpp } from "./lintCpp.mjs";
import { judged, nativeTests, statusOf, TABLE, threadTests } from "./nativeTests.mjs";
import { installConsumers } from "./packages.mjs";
import { build } from "./paths.mjs";
import { say, useGroups } from "./run.mjs";
import { runStage, runStages, WATCHDOG_MINUTES } from "./stages.mjs";
import { CORE, forgetPassed, passedBefore, rememberPassed, stageDigest } from "./stamps.mjs";
import { namesIn, optionsOf, wholeNumber } from "./usage.mjs";
import { wasmTests } from "./wasmTests.mjs";
import { wgpuTests } from "./wgpuTests.mjs";

const USAGE = `npm test -- [options]: what a change usually breaks, or
  --all          everything that CI runs for a commit: also sanitizers, fuzzers, C++ as WebAssembly, the lab
  --whole        the same, and every bundler and engine that users may have (npm run test:package: only these)
  --only LIST    whole stages, such as --only jest,package: webgpu, browser, lint, native, jest, wgpu, package, lab, asan,
                 fuzz, tsan, wasm, consumers, reproducible, trust; the last two run only if named
  --deep         with more random calls on WebGPU (HEADWISE_DEEP=1)
  --busy         with one process for each core that keeps it busy; nothing from the cache
  --fresh        nothing from the cache, as in CI
  --hunt N       N minutes of search for new inputs of the fuzzers, and nothing else
  --help         this text
The last line is "N passed, N failed, N skipped". tests/README.md says what each stage runs.`;

const results = path.join(build, "test-results");

const DOCUMENTS = ["README.md", "CONTRIBUTING.md"];
const PACKAGE = [...CORE, ...DOCUMENTS, "web", "tests", "../shared/cases", "package.json", "package-lock.json"];
const LINTED = [...PACKAGE, ".clang-format", ".clang-tidy", ".oxlintrc.json", ".oxfmtrc.json", ".github", ".changeset"];

/** Tests of the package that take long and seldom fail alone. Only `--all` runs them. */
const SLOW = [
  "calibrationModel",
  "forgedCaches",
  "hostileElsewhere",
  "hostileValues",
  "inductionExample",
  "latePart",
  "lifetime",
  "longSequences",
  "modelFamilies",
  "mutation",
  "openModel",
  "referenceBackward",
  "refusedMemory",
  "sizeArithmetic",
  "stages",
  "trainModel",
  "trust",
];

/** The patterns of Jest's files: of a usual run, and of a run of everything. */
const FILES = {
  jest: {
    usual: [
      "tests/(web|conformance)/",
      `--testPathIgnorePatterns=tests/web/(${SLOW.join("|")})\\.test`,
      "/node_modules/",
    ],
    all: ["tests/(web|bench|conformance|attention-conformance)/"],
  },
  webgpu: { usual: ["tests/webgpu/attention\\.test"], all: ["tests/webgpu/"] },
  browser: { usual: ["tests/browser/(window|worker|lab/masks)\\.test"], all: ["tests/browser/"] },
  package: {
    usual: ["tests/package/quick/(contents|node|typescript|viteBuild)\\.test"],
    all: ["tests/package/quick/"],
  },
};

/**
 * All stages in their order. `minutes` is the budget: a little more than the stage takes on a quiet machine with
 * two cores, beside two others. A stage over its budget is reported; a stage that takes three times its budget is ended.
 * `reads` are the files on which its result depends. tests/README.md says what each stage runs.
 */
const stagesOf = ({ hunt, isAll }) => {
  const files = (name) => FILES[name][isAll ? "all" : "usual"];
  return [
    // First, because each of these two has one process, which often waits, and takes longest.
    { name: "webgpu", minutes: isAll ? 22 : 3, reads: PACKAGE, run: () => webgpu(files("webgpu")) },
    { name: "browser", minutes: isAll ? 24 : 2, reads: PACKAGE, run: () => browser(files("browser")) },
    { name: "lint", minutes: isAll ? 4 : 2, reads: LINTED, run: () => lint(isAll) },
    { name: "native", minutes: 6, reads: CORE, run: () => nativeTests("release") },
    { name: "jest", minutes: isAll ? 14 : 6, reads: PACKAGE, run: () => jest("jest", files("jest"), { env: fewer() }) },
    { name: "asan", minutes: 9, reads: CORE, run: () => nativeTests("asan", `-${TABLE}`), only: "all" },
    { name: "wgpu", minutes: 6, reads: PACKAGE, run: () => wgpuTests(), only: "all" },
    { name: "wasm", minutes: 6, reads: CORE, run: wasmTests, only: "all" },
    { name: "lab", minutes: 6, reads: PACKAGE, run: () => jest("lab", ["tests/lab/"]), only: "all" },
    { name: "tsan", minutes: 5, reads: CORE, run: threadTests, only: "all" },
    { name: "package", minutes: isAll ? 5 : 3, reads: PACKAGE, run: () => jest("package", files("package")) },
    // Alone it also builds what the stage asan has built.
    {
      name: "fuzz",
      minutes: 2 + hunt,
      hangsAfter: 30 + 3 * hunt,
      reads: CORE,
      run: () => fuzz(hunt),
      after: "asan",
      only: "all",
    },
    { name: "consumers", minutes: 12, reads: PACKAGE, run: consumers, only: "whole" },
    {
      name: "reproducible",
      minutes: 6,
      reads: PACKAGE,
      run: () => jest("reproducible", ["tests/package/twice/"]),
      only: "named",
    },
    { name: "trust", minutes: 8, hangsAfter: 40, reads: PACKAGE, run: trust, only: "named" },
  ];
};

/** The build comes before all stages. It may be slow, because it downloads the toolchain and packages. */
const BUILD = { name: "build", minutes: 5, hangsAfter: 20, run: buildPackage, isNeeded: true };

async function buildPackage() {
  await buildForTests();
  return nothing;
}

const lint = async (isAll) => [await lintWeb(), await lintCpp(isAll)].reduce(add);

/**
 * Every fuzz target runs the inputs of its corpus once, so that the result depends only on the commit. A hunt searches
 * for new inputs for so many minutes, all targets at the same time, with a new seed. A target that finds an error fails.
 * The row "fuzz" of `npm run trust` reads what is written.
 */
async function fuzz(hunt) {
  await buildFuzzers(hunt > 0);
  const seed = randomInt(1, 2 ** 31);
  const options = (name) => ({ finds: path.join(results, name), seconds: 60 * hunt, seed });
  const runs = await Promise.all(FUZZERS.map((name) => fuzzOne(name, options(name))));
  keepLastRuns(runs);
  if (hunt > 0) keepExecutions(runs, seed);
  const verdicts = runs.map(({ name, holds, executions }) => {
    say(`${name}: ${executions} inputs${holds ? "" : `; found something, see build/test-results/${name}`}`);
    return holds ? { ...nothing, passed: 1 } : oneFailed;
  });
  return verdicts.reduce(add);
}

/** Jest leaves one core free unless it is told not to. A browser needs that core. */
const ON_ALL_CORES = ["--maxWorkers=100%"];

async function jest(name, patterns, { more = ON_ALL_CORES, env = {} } = {}) {
  const report = path.join(results, `${name}.json`);
  const engine = ["--experimental-vm-modules", "--no-warnings=ExperimentalWarning"];
  // Node 20 needs a flag for relaxed SIMD. Without it the relaxed variant would not be tested.
  if (Number(process.versions.node.split(".")[0]) < 22) engine.push("--experimental-wasm-relaxed-simd");
  const config = ["--config", "tests/jest.config.mjs", "--json", `--outputFile=${report}`, ...more];
  const program = [...engine, "node_modules/jest/bin/jest.js", ...config, ...patterns];
  const status = await statusOf(process.execPath, program, { ...process.env, ...env });
  return judged(jestCounts(report), status);
}

/** A third of the random inputs is enough for every commit; `--deep` takes all. */
const fewer = () => (process.env.HEADWISE_DEEP ? {} : { HEADWISE_FEWER: process.env.HEADWISE_FEWER ?? "3" });

/**
 * A software adapter takes a second or more to compile a kernel. All files run in one process, and share what a device has
 * compiled.
 */
const webgpu = (patterns) => jest("webgpu", patterns, { more: ["--runInBand"], env: fewer() });

/** All files share one server of the lab. */
async function browser(patterns) {
  const shared = await shareLab();
  try {
    return await jest("browser", patterns, { more: [], env: shared.env });
  } finally {
    await shared.end();
  }
}

/**
 * Runs the packed package with all tools and engines that users may have. Tests of what cannot be installed are
 * skipped.
 */
async function consumers() {
  await installEngines();
  return jest("consumers", ["tests/package/matrix/"]);
}

/** The other browsers and what drives them. What cannot be installed is not measured, and the tests or rows say so. */
async function installEngines() {
  await installConsumers();
  await setUp(["firefox", "lavapipe"]).catch((error) => say(`without Firefox: ${error.message}`));
  await setUp(["webkit"]).catch((error) => say(`without WebKit: ${error.message}`));
}

/** Every row of the table of trust with less work. Each row counts as one test. */
async function trust() {
  await installEngines();
  const report = path.join(build, "trust/trust.json");
  rmSync(report, { force: true });
  const status = await statusOf(process.execPath, ["tests/trust/trust.mjs", "--quick"]);
  return judged(trustCounts(report), status);
}

/**
 * The counts of a stage: those of its last run if it passed and its inputs are the same, otherwise those of a new run.
 */
async function countsOf(stage, { isFresh, isAll, deep: isDeep }) {
  if (!stage.reads) return runStage(stage);
  const digest = stageDigest(stage.reads, [isDeep && "deep", isAll && "all"].filter(Boolean).join(" "));
  const last = passedBefore(stage.name, digest);
  if (!isFresh && last) {
    console.log(`=== ${stage.name}: ${sentence(last)} (cached: nothing it reads has changed)`);
    return last;
  }
  forgetPassed(stage.name);
  const counts = await runStage(stage, results);
  if (counts.failed === 0) rememberPassed(stage.name, digest, counts);
  return counts;
}

/** A day, in minutes. */
const LONGEST_HUNT = 1440;

function readOptions() {
  const values = optionsOf(USAGE, { likely: "only" });
  const hunt = values.hunt === undefined ? 0 : wholeNumber("--hunt", values.hunt, 1, LONGEST_HUNT);
  const isFresh = values.fresh || values.busy || hunt > 0 || Boolean(process.env.CI);
  const isAll = values.all || values.whole || values.only !== undefined;
  return { ...values, hunt, isFresh, isAll };
}

function chosenStages({ hunt, only, isAll, whole }) {
  const stages = stagesOf({ hunt, isAll });
  if (hunt > 0) return stages.filter(({ name }) => name === "fuzz");
  const all = stages.map(({ name }) => name);
  const names = only === undefined ? undefined : namesIn("--only", only, all);
  if (names) return stages.filter(({ name }) => names.includes(name));
  return stages.filter((stage) => !stage.only || (stage.only === "all" && isAll) || (stage.only === "whole" && whole));
}

/** So many stages run beside each other: one more than CI has cores, because a browser and a software GPU often wait. */
const SLOTS = 3;

/** A usual run takes a tenth of the random inputs; see tests/web/depth.ts and tests/cpp/harness.h. */
const FEWER = "10";

let total = nothing;
try {
  const options = readOptions();
  const stages = [BUILD, ...chosenStages(options)];
  // npm keeps an --only before its "--" without a trace (it has one of its own), so every run says what it runs.
  say(`stages: ${stages.map(({ name }) => name).join(", ")}; npm test -- --only LIST chooses`);
  useGroups();
  if (!options.isAll) process.env.HEADWISE_FEWER ??= FEWER;
  if (options.deep) process.env.HEADWISE_DEEP = "1"; // for every stage; tests/web/depth.ts reads it
  if (options.busy) burnAllCores();
  rmSync(results, { recursive: true, force: true });
  mkdirSync(results, { recursive: true });
  total = await runStages(stages, {
    countsOf: (stage) => countsOf(stage, options),
    watchdogMinutes: WATCHDOG_MINUTES + options.hunt,
    slots: SLOTS,
  });
} catch (error) {
  say(error.message);
  total = add(total, oneFailed);
}
console.log(`\n${sentence(total)}`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1); // also ends hanging programs and busy processes
