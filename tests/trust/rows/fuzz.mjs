// Fuzzers of the core in C++, and of the readers of files.

import path from "node:path";

import { FUZZERS } from "../../../web/build/corpus.mjs";
import {
  buildFuzzers,
  failuresIn,
  fuzzOne,
  keepExecutions,
  keptExecutions,
  lastRuns,
} from "../../../web/build/fuzz.mjs";
import { jest } from "../programs.mjs";

/** Inputs that all targets together should have run. */
const GOAL = 1e7;

/** In full: seconds for each target, one after another, and files for each reader. */
const SECONDS = 45;
const FILES = 50_000;

/**
 * In full each target runs with the seed, and its inputs are added to those of earlier runs. A quick run takes the results
 * of the stage "fuzz" of `npm test`, which has run with the same sources.
 */
async function measure({ isQuick, seed, folder }) {
  const runs = isQuick ? lastRuns() : await runAll(folder, seed);
  const total = Object.values(keptExecutions()).reduce((sum, { executions }) => sum + executions, 0);
  const accumulated = `${total.toLocaleString("en")} of ${GOAL.toLocaleString("en")} inputs so far`;
  if (!runs) return { verdict: "skipped", figure: `${accumulated}; errors: measured by stage fuzz of npm test` };
  const readers = isQuick ? undefined : await readersHold(folder, seed);
  const errors = runs.filter(({ holds }) => !holds).length + (readers === false ? 1 : 0);
  const now = runs.reduce((sum, { executions }) => sum + executions, 0);
  for (const { name, executions, edges, allEdges } of runs) {
    const covered = allEdges > 0 ? `, ${edges} of ${allEdges} edges of the program` : "";
    console.log(`${name.padEnd(22)} ${executions} inputs${covered}`);
  }
  return {
    verdict: verdictOf(errors, total, isQuick),
    figure: `${accumulated}, ${now.toLocaleString("en")} now; ${errors} of ${runs.length + (readers === undefined ? 0 : 1)} targets with errors`,
    numbers: { goal: GOAL, total, now, errors, runs, accumulated: keptExecutions() },
  };
}

/** A quick run adds no inputs: it does not fail because there are too few, but it does not hold either. */
function verdictOf(errors, total, isQuick) {
  if (errors > 0) return "failed";
  if (total >= GOAL) return "held";
  return isQuick ? "skipped" : "failed";
}

async function runAll(folder, seed) {
  await buildFuzzers(true);
  const runs = [];
  for (const name of FUZZERS) {
    const finds = path.join(folder, name);
    runs.push(await fuzzOne(name, { finds, seconds: SECONDS, seed }));
    for (const file of failuresIn(finds)) console.log(`${name}: fails on ${path.join(finds, file)}`);
  }
  keepExecutions(runs, seed);
  return runs;
}

async function readersHold(folder, seed) {
  const env = { HEADWISE_FUZZ_RUNS: String(FILES), HEADWISE_FUZZ_SEED: String(seed) };
  const { failed, passed } = await jest(folder, ["tests/web/fileReaders.test.ts"], env);
  return failed === 0 && passed > 0;
}

export const fuzz = {
  name: "fuzz",
  what: "random inputs: calls, layers, gradients, formulas, caches, files",
  goal: "10 million inputs, no error",
  minutes: { quick: 0.1, whole: 6 },
  measure,
};
