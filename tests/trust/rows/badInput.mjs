// Hostile arguments for every operation and engine.

import path from "node:path";

import { onBothEngines } from "../bothEngines.mjs";
import { verdictOf } from "../figures.mjs";
import { jest } from "../programs.mjs";

/** Calls of each operation. A call on the software adapter takes many times as long as on wasm. */
const CALLS = { quick: { wasm: 200, webgpu: 20 }, whole: { wasm: 20_000, webgpu: 1_000 } };

const FILES = {
  wasm: ["tests/web/hostile.test.ts", "tests/web/hostileElsewhere.test.ts"],
  webgpu: ["tests/webgpu/hostile.test.ts"],
};

/** One value at a time in the place of every argument: values that throw when they are read, and large ones. */
const SWEEPS = ["tests/web/hostileValues.test.ts", "tests/web/largeValues.test.ts"];

const figureOf = ({ calls, wasm, webgpu, failed, rest }) =>
  `${calls.wasm} calls of each of ${wasm.passed} operations on wasm, in a worker, inline and without an engine, ` +
  `${calls.webgpu} of each of ${webgpu.passed} on WebGPU: ${failed} failed${rest}`;

const measureCalls = onBothEngines(FILES, CALLS, figureOf);

/** The sweeps do the same in every run, and `npm test` runs them too: so only a full measurement repeats them. */
async function measure(run) {
  const calls = await measureCalls(run);
  if (run.isQuick) return calls;
  const sweeps = await jest(path.join(run.folder, "sweeps"), SWEEPS);
  const { verdict, rest } = verdictOf(sweeps);
  return {
    verdict: verdict === "held" ? calls.verdict : verdict,
    figure: `${calls.figure}; every argument of each call in turn: ${sweeps.failed} failed${rest}`,
    numbers: { ...calls.numbers, sweeps },
  };
}

export const badInput = {
  name: "bad-input",
  what: "hostile arguments, per operation and engine: a typed error or a right result, no number from other memory, the next call bit for bit as before; a call that is refused takes at most 1 s and 64 MB",
  goal: "20,000 calls each on wasm, 1,000 on a software GPU, 0 failures",
  minutes: { quick: 0.9, whole: 15.5 },
  measure,
};
