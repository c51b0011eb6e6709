// npm test: every test of the repository, from a bare clone. The last line is "N passed, N failed, N skipped".
//
//   npm test -- --quick            without the sanitizer runs
//   npm test -- --only=jest        some stages: native, asan, tsan, jest, browser (comma-separated)

import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";

import { setUp } from "../../cpp/toolchain/setup.mjs";
import { buildAll } from "./build.mjs";
import { add, googleTestCounts, jestCounts, nothing, oneFailed, sentence } from "./counts.mjs";
import { build, root } from "./paths.mjs";
import { ended, run, say } from "./run.mjs";

const results = path.join(build, "test-results");

/** In the order they run. `minutes` is the budget: a stage that takes longer is stopped and counts as failed. */
const STAGES = [
  { name: "native", minutes: 6, run: () => nativeTests("release") },
  { name: "asan", minutes: 10, run: () => nativeTests("asan"), slow: true },
  { name: "tsan", minutes: 6, run: () => nativeTests("tsan", "*ThreadPool*:*Threads*:*Parallel*"), slow: true },
  { name: "jest", minutes: 8, run: () => jest("jest", ["tests/(web|conformance|package)/"]) },
  { name: "browser", minutes: 5, run: () => jest("browser", ["tests/browser/"]) },
];

let deadline = Infinity;

async function nativeTests(preset, filter = "*") {
  const configure = ["--preset", preset, ...(process.env.CI ? ["-DHEADWISE_WERROR=ON"] : [])];
  await run("cmake", configure, { quiet: true });
  await inTime("cmake", ["--build", path.join(build, preset), "--parallel"]);
  const report = path.join(results, `${preset}.json`);
  const program = path.join(build, preset, "tests/cpp/headwise_tests");
  await inTime(program, [`--gtest_filter=${filter}`, `--gtest_output=json:${report}`, "--gtest_brief=1"]);
  return googleTestCounts(report);
}

async function jest(name, patterns) {
  const report = path.join(results, `${name}.json`);
  const engine = ["--experimental-vm-modules", "--no-warnings=ExperimentalWarning"];
  // Node 20 has relaxed SIMD behind a flag; without it the faster variant would go untested there.
  if (Number(process.versions.node.split(".")[0]) < 22) engine.push("--experimental-wasm-relaxed-simd");
  const config = ["--config", "tests/jest.config.mjs", "--json", `--outputFile=${report}`];
  await inTime(process.execPath, [...engine, "node_modules/jest/bin/jest.js", ...config, ...patterns]);
  return jestCounts(report);
}

/** Runs a program of a stage, in sight. Its verdict is in its report, so only the clock is watched here. */
async function inTime(program, args) {
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], detached: true });
  const stopAll = () => process.kill(-child.pid, "SIGKILL"); // with everything it started
  const timer = setTimeout(stopAll, deadline - Date.now());
  process.once("exit", stopAll);
  await ended(child);
  clearTimeout(timer);
  process.off("exit", stopAll);
  if (Date.now() >= deadline) throw new Error("stopped: over its budget");
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

function chosenStages(args) {
  const only = args.find((arg) => arg.startsWith("--only="))?.slice("--only=".length).split(",");
  const unknown = only?.filter((name) => !STAGES.some((stage) => stage.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`no such stage: ${unknown.join(", ")}`);
  if (only) return STAGES.filter(({ name }) => only.includes(name));
  return STAGES.filter(({ slow }) => !(slow && args.includes("--quick")));
}

let total = nothing;
try {
  const stages = chosenStages(process.argv.slice(2));
  rmSync(results, { recursive: true, force: true });
  mkdirSync(results, { recursive: true });
  await setUp(["wasm", "native", "browser"]);
  await buildAll();
  for (const stage of stages) total = add(total, await runStage(stage));
} catch (error) {
  say(error.message);
  total = add(total, oneFailed);
}
console.log(`\n${sentence(total)}`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
