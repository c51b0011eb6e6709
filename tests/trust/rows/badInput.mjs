// Hostile arguments for every operation and engine.

import path from "node:path";

import { onBothEngines } from "../bothEngines.mjs";
import { verdictOf } from "../figures.mjs";
import { compiled, jest, reportOf } from "../programs.mjs";

/** Calls of each operation. A call on the software adapter takes many times as long as on wasm. */
const CALLS = { quick: { wasm: 200, webgpu: 20 }, whole: { wasm: 20_000, webgpu: 1_000 } };

const FILES = {
  wasm: ["tests/web/hostile.test.ts", "tests/web/hostileElsewhere.test.ts"],
  webgpu: ["tests/webgpu/hostile.test.ts"],
};

/** One value that throws when it is read, in the place of every argument in turn. */
const SWEEP = "tests/web/hostileValues.test.ts";

const figureOf = ({ calls, wasm, webgpu, failed, rest }) =>
  `${calls.wasm} calls of each of ${wasm.passed} operations on wasm, in a worker, inline and without an engine, ` +
  `${calls.webgpu} of each of ${webgpu.passed} on WebGPU: ${failed} failed${rest}`;

const measureCalls = onBothEngines(FILES, CALLS, figureOf);

/** What goes through all arguments does the same in every run, so only a full measurement does it. */
async function measure(run) {
  const calls = await measureCalls(run);
  if (run.isQuick) return calls;
  const sweep = await jest(path.join(run.folder, "sweep"), [SWEEP]);
  const costly = { ...(await costs("costlyCalls", run.folder)), ...(await costs("costlyPictures", run.folder)) };
  const count = Object.values(costly).flat().length;
  const { verdict, rest } = verdictOf(sweep);
  const ofSweeps = verdict === "held" && count > 0 ? "failed" : verdict;
  return {
    verdict: ofSweeps === "held" ? calls.verdict : ofSweeps,
    figure: `${calls.figure}; every argument of each call in turn: ${sweep.failed} failed${rest}, ${count} cost too much`,
    numbers: { ...calls.numbers, sweep, costly },
  };
}

/** What costs too much, by operation or element. */
async function costs(name, folder) {
  return reportOf(folder, name, await compiled(`tests/trust/badInput/${name}.ts`, folder), [], 20);
}

export const badInput = {
  name: "bad-input",
  what: "hostile arguments, per operation and engine: a typed error or a right result, no number from other memory, the next call bit for bit as before; a call that is refused takes at most 1 s and 64 MB",
  goal: "20,000 calls each on wasm, 1,000 on a software GPU, 0 failures",
  minutes: { quick: 0.9, whole: 15.5 },
  measure,
};
