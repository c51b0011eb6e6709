// The harness in the page: every case is checked, then timed in turns with the peers. Inputs lie on the GPU. Results
// stay there, except those of a cache or a layer. A call ends when the GPU is done; a small call when it is submitted.
// Small calls have no peers, whose calls cannot be timed in the same way.

import { bytesTouched, CASES, isChosen, operations } from "../harness/cases.mjs";
import { makeProblem } from "../harness/problem.mjs";
import { checkRows, referenceOf, sampleRows } from "../harness/reference.mjs";
import { summary } from "../harness/statistics.mjs";
import { timeInterleaved } from "../harness/timing.mjs";
import { openDevice } from "./device.mjs";
import { openHeadwise } from "./headwise.mjs";
import { preparePeers, timed } from "./peers.mjs";
import { probe } from "./probes.mjs";

const PEERS = { ort: "./ort.mjs", tfjs: "./tfjs.mjs" };

const square = (heads, length, dim, half) => ({
  name: `${heads}×${length}×${dim} ${half ? "float16" : "float32"}`,
  ...{
    group: "dense",
    batch: 1,
    heads,
    kvHeads: heads,
    queries: length,
    keys: length,
    dim,
    causal: false,
    left: Infinity,
  },
  half,
});

/** The cases of the wasm bench, and larger ones for GPUs. Cases that take a CPU half a minute are left out, and workers. */
const GPU_CASES = [
  ...CASES.filter(({ once, linear, small, inWorker }) => !once && !inWorker && (small || !linear)),
  ...[false, true].flatMap((half) => [square(16, 4096, 64, half), square(4, 128, 64, half)]),
];

export async function run({ filter, quick, peers, rounds }, report) {
  const { device, info } = await openDevice();
  const rates = await probe(device);
  await report({ machine: { adapter: describe(device, info), rates } });
  device.destroy();
  const opened = await openPeers(peers, report);
  for (const shape of GPU_CASES.filter((each) => isChosen(each, { filter, quick })))
    await report(await runCase(shape, opened, rates, rounds).then((record) => ({ record }), (error) => ({ note: `${shape.name}: ${error.message}` }))); // oxfmt-ignore
}

function describe({ features }, { vendor, architecture, description, isFallbackAdapter }) {
  const used = ["shader-f16", "subgroups", "timestamp-query"].filter((name) => features.has(name));
  return { vendor, architecture, description, fallback: isFallbackAdapter, features: used };
}

async function openPeers(names, report) {
  const peers = [];
  for (const name of names)
    try {
      const { open } = await import(PEERS[name]);
      peers.push({ name, ...(await open()) });
    } catch (error) {
      await report({ note: `${name} does not run here: ${error.message}` });
    }
  return peers;
}

async function runCase(shape, peers, rates, rounds) {
  const problem = makeProblem({ ...shape, cache: shape.half ? "float16" : shape.cache });
  problem.shape = shape;
  const expectedRow = referenceOf(problem);
  const rows = sampleRows(shape).map((row) => ({ row, expected: expectedRow(row) }));

  const own = await openHeadwise(problem);
  const firstMilliseconds = await timed(own.call);
  checkRows(rows, await own.rows(), Boolean(shape.half));
  const { entries, notRun } = await preparePeers(shape.small ? [] : peers, problem, rows);
  const contenders = [own, ...entries];
  const samples = await timeInterleaved(contenders, rounds, own.settle);
  const figures = contenders.map((_, n) => summary(samples[n]));
  const kernels = await own.kernelTimes();
  for (const { release } of contenders) release();
  return {
    ...{ case: shape.name, group: shape.group, notRun, firstMilliseconds, samples: samples[0] },
    ...{ operations: operations(shape), bytes: bytesOf(shape), half: Boolean(shape.half) },
    ...speed(shape, figures[0], kernels, rates),
    peers: Object.fromEntries(
      entries.map(({ name, form }, n) => {
        const { median, spread } = figures[n + 1];
        return [name, { milliseconds: median, spread, form, ratio: median / figures[0].median, samples: samples[n + 1] }]; // oxfmt-ignore
      }),
    ),
  };
}

const bytesOf = (shape) => bytesTouched(shape) / (shape.half ? 2 : 1);

/**
 * The speed of a call. `kernels` are the GPU's own times of one call. Without timestamps it is empty; then the time of
 * the call is used.
 */
function speed(shape, { median, spread }, kernels, { f32, f16, copy }) {
  const work = operations(shape);
  const bytes = bytesOf(shape);
  const gpuMilliseconds = kernels.reduce((sum, { milliseconds }) => sum + milliseconds, 0) || median;
  const atBest = Math.max(work / ((shape.half && f16) || f32), bytes / copy) * 1e3;
  return {
    ...{ milliseconds: median, spread, gpuMilliseconds, dispatches: kernels.length, kernels },
    teraflops: work / gpuMilliseconds / 1e9,
    gigabytes: bytes / gpuMilliseconds / 1e6,
    share: atBest / gpuMilliseconds,
  };
}
