// node tests/bench/lab/training.mjs: what the room Train does, in Node: how long a step takes with one and with all
// threads, and after how many steps two layers copy 95 % of the tokens, seed by seed, beside one layer that cannot.

import { availableParallelism } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build } from "esbuild";

import { settingsOf, wholeNumber } from "../../../web/build/usage.mjs";
import { quantile } from "../harness/statistics.mjs";
import { print, record } from "../models/rows.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const GOAL = 0.95;
/** Of a step with two threads, in milliseconds. Nothing fails because of it. */
const STEP_GOAL = 30;
const COLUMNS = ["step", "median", "least", "goal"];
/** Steps over which accuracy is averaged: 32 sequences each. */
const MEAN = 20;

const USAGE = `node tests/bench/lab/training.mjs [options]
  --steps N     the longest training (default 2000)
  --seeds N     how many seeds (default 10; 0: only the times)
  --threads N   threads for the seeds (default: all)
  --record      keeps the times of a step in the table "training" of tests/figures/figures.json
  --help        this text`;

const { steps, seeds, threads, isKept } = settingsOf(USAGE, (given) => ({
  steps: wholeNumber("--steps", given.steps ?? "2000", 1),
  seeds: wholeNumber("--seeds", given.seeds ?? "10", 0),
  threads: given.threads === undefined ? availableParallelism() : wholeNumber("--threads", given.threads, 1),
  isKept: given.record === true,
}));

const outfile = path.join(ROOT, "dist-demo/trainer.js");
const external = ["headwise", "headwise/*"];
const entry = path.join(ROOT, "web/demo/train/trainer.ts");
await build({ bundle: true, format: "esm", platform: "node", entryPoints: [entry], outfile, external });
const { createAttention } = await import(pathToFileURL(path.join(ROOT, "dist/index.node.js")).href);
const { createTrainer, USUAL_SETTINGS } = await import(pathToFileURL(outfile).href);

const rows = [];
for (const count of new Set([1, availableParallelism()]))
  await withThreads(count, async (hw) => rows.push(await stepOf(hw, count)));
print(COLUMNS, rows);
if (isKept) record("training", "node tests/bench/lab/training.mjs", COLUMNS, rows);
if (seeds > 0)
  await withThreads(threads, async (hw) => {
    let learned = 0;
    for (let seed = 1; seed <= seeds; seed++) learned += await printSeed(hw, seed);
    console.log(`${learned} of ${seeds} seeds copy ${100 * GOAL} % within ${steps} steps`);
    const { accuracy } = await trained(hw, { ...USUAL_SETTINGS, layers: 1 }, Math.min(steps, 1000));
    console.log(`one layer copies ${(100 * accuracy).toFixed(1)} %`);
  });

async function withThreads(threads, use) {
  const hw = await createAttention({ backend: "wasm", threads });
  await use(hw, threads);
  hw.dispose();
}

/** The median and the least time of 40 steps, after 10 that warm up. */
async function stepOf(hw, threads) {
  const trainer = await createTrainer(hw, USUAL_SETTINGS);
  const times = [];
  for (let step = 0; step < 50; step++) {
    const begun = performance.now();
    await trainer.step();
    if (step >= 10) times.push(performance.now() - begun);
  }
  trainer.dispose();
  const { layers, heads, width, tokens, batch } = USUAL_SETTINGS;
  const name = `${layers} layers × ${heads} heads, width ${width}, ${batch} × ${tokens} tokens, threads: ${threads}`;
  const text = (time) => `${time.toFixed(1)} ms`;
  const goal = threads === 2 ? `at most ${STEP_GOAL} ms` : "–";
  return [name, text(quantile(times, 0.5)), text(Math.min(...times)), goal];
}

/** Prints when a seed has learned to copy. Returns whether it has. */
async function printSeed(hw, seed) {
  const { accuracy, step } = await trained(hw, { ...USUAL_SETTINGS, seed }, steps);
  const isThere = accuracy >= GOAL;
  console.log(`seed ${seed}: ${(100 * accuracy).toFixed(1)} % at step ${step}`);
  return isThere;
}

async function trained(hw, settings, most) {
  const trainer = await createTrainer(hw, settings);
  const last = [];
  let accuracy = 0;
  while (trainer.steps < most && accuracy < GOAL) {
    last.push((await trainer.step()).accuracy);
    if (last.length > MEAN) last.shift();
    accuracy = last.length < MEAN ? 0 : last.reduce((sum, each) => sum + each) / MEAN;
  }
  const step = trainer.steps;
  trainer.dispose();
  return { accuracy, step };
}
