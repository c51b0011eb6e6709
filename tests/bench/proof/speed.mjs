// The speed of chosen cases on one device. Queries, keys, values and results stay on the GPU.

import { setFloat16 } from "@petamoriken/float16";

import { float16ToNumber } from "../../attention-conformance/reference/reference.ts";
import { bytesTouched, operations } from "../harness/cases.mjs";
import { makeProblem } from "../harness/problem.mjs";
import { checkRows, referenceOf, sampleRows } from "../harness/reference.mjs";
import { quantile } from "../harness/statistics.mjs";
import { filledCache, optionsOf, rowOf } from "../peers/headwise.mjs";
import { preparePeers } from "../webgpu/peers.mjs";

const ROUNDS = 5;
/** A round makes as many calls as fit in this time. */
const ROUND_MILLISECONDS = 60;
const MOST_CALLS = 200;
/** Calls whose kernels are timed. Browsers round timestamps, so the mean of some calls says more than the least. */
const TIMED_CALLS = 16;
/** Work before a case, between its rounds, and between calls whose kernels are timed: see heat.mjs. */
const HEAT_MILLISECONDS = { first: 800, round: 40, call: 10 };

const shapeOf = (name, group, shape) => ({
  ...{ name, group, batch: 1, causal: false, left: Infinity, lengths: undefined, cache: undefined, half: false },
  ...shape,
});

const square = (heads, length, dim, { half = false, causal = false } = {}) => {
  const group = causal ? "causal" : "dense";
  const name = `${group} ${heads}×${length}×${dim} ${half ? "float16" : "float32"}`;
  return shapeOf(name, group, { heads, kvHeads: heads, queries: length, keys: length, dim, half, causal });
};

const decode = (heads, kvHeads, keys, dim, dtype) =>
  shapeOf(`decode ${heads}/${kvHeads}×${keys}×${dim} ${dtype}`, "decode", {
    ...{ heads, kvHeads, queries: 1, keys, dim, cache: dtype },
  });

const GPU_CASES = [
  square(12, 2048, 64),
  square(12, 2048, 64, { half: true }),
  square(8, 2048, 128),
  square(8, 2048, 128, { half: true }),
  square(12, 512, 64),
  square(12, 128, 64),
  square(12, 2048, 64, { causal: true }),
  ...[2048, 8192, 32768].map((keys) => decode(32, 8, keys, 128, "float32")),
  ...["float16", "int8"].flatMap((dtype) => [8192, 32768].map((keys) => decode(32, 8, keys, 128, dtype))),
];

/** Cases that a software adapter computes in a moment. Their times say nothing. */
const SOFTWARE_CASES = [square(4, 128, 64), decode(8, 2, 512, 64, "float32")];

export const speedCases = ({ software, quick }) =>
  software ? SOFTWARE_CASES : quick ? GPU_CASES.slice(0, 1) : GPU_CASES;

/**
 * Checks a case and measures it.
 *
 * @param {object} shape - one of speedCases
 * @param {object} bench - `hw` and `timed`, two instances on `device`, of which `timed` has `profile`; `rates` of the
 *   probes; `peers`, as tests/bench/webgpu opens them; `heat` of heat.mjs
 */
export async function measureCase(shape, { hw, timed, device, rates, peers, heat }) {
  const problem = makeProblem({ ...shape, cache: shape.half ? "float16" : shape.cache });
  problem.shape = shape;
  const expectedRow = referenceOf(problem);
  const rows = sampleRows(shape).map((row) => ({ row, expected: expectedRow(row) }));
  const work = { operations: operations(shape), bytes: bytesOf(shape), half: shape.half };
  const named = { case: shape.name, group: shape.group, ...work };
  const opened = await openCase(hw, problem);
  try {
    await opened.call();
    checkRows(rows, await opened.rows(), shape.half);
    await heat(HEAT_MILLISECONDS.first);
    const samples = await timesPerCall(opened.call, device, heat);
    const milliseconds = quantile(samples, 0.5);
    const gpuMilliseconds = await kernelTime(timed, problem, heat);
    const figures = figuresOf(shape, gpuMilliseconds ?? milliseconds, rates);
    return { ...named, milliseconds, samples, gpuMilliseconds, ...figures, peers: await measurePeers(peers, problem, rows, { milliseconds, heat }) }; // oxfmt-ignore
  } catch (error) {
    return { ...named, failure: error.message };
  } finally {
    opened.release();
  }
}

/** Opens a case: `call()` makes a call, `settled()` waits until it is over, `rows()` reads its result. */
const openCase = (hw, problem) => (problem.shape.cache ? openDecode(hw, problem) : openPlain(hw, problem));

async function openPlain(hw, problem) {
  const { shape, query, key, value } = problem;
  const { batch, heads, kvHeads, queries, keys, dim, half } = shape;
  const dtype = half ? "float16" : "float32";
  const place = (data, count, length) =>
    hw.gpu.upload({ data: half ? toHalves(data) : data, shape: [batch, count, length, dim], dtype });
  const q = await place(query, heads, queries);
  const [k, v] = [await place(key, kvHeads, keys), await place(value, kvHeads, keys)];
  const options = { ...optionsOf(problem), location: "gpu" };
  return repeated(shape, () => hw.scaledDotProductAttention(q, k, v, options), [q, k, v]);
}

async function openDecode(hw, problem) {
  const { shape, query } = problem;
  const held = await filledCache(hw, problem);
  const tensor = await hw.gpu.upload({ data: query, shape: [1, shape.heads, 1, shape.dim], dtype: "float32" });
  return repeated(shape, () => held.attend(tensor, { location: "gpu" }), [tensor, held]);
}

/** A call whose result is disposed before the next one. */
function repeated(shape, run, owned) {
  let output;
  return {
    async call() {
      output?.dispose();
      ({ output } = await run());
    },
    settled: () => output.data(),
    async rows() {
      const data = await output.data();
      const numbers = shape.half ? Float32Array.from(data, float16ToNumber) : data;
      return (row) => rowOf(shape)(numbers, row);
    },
    release() {
      for (const each of [output, ...owned]) each?.dispose();
    },
  };
}

function toHalves(numbers) {
  const view = new DataView(new ArrayBuffer(2 * numbers.length));
  for (const [k, number] of numbers.entries()) setFloat16(view, 2 * k, number, true);
  return new Uint16Array(view.buffer);
}

/** The time of a call in each round, when calls follow each other. */
async function timesPerCall(call, device, heat) {
  const turn = async (calls) => {
    const start = performance.now();
    for (let n = 0; n < calls; n++) await call();
    await device.queue.onSubmittedWorkDone();
    return (performance.now() - start) / calls;
  };
  await turn(1);
  const calls = Math.min(MOST_CALLS, Math.ceil(ROUND_MILLISECONDS / (await turn(1))));
  const samples = [];
  for (let round = 0; round < ROUNDS; round++) {
    await heat(HEAT_MILLISECONDS.round);
    samples.push(await turn(calls));
  }
  return samples;
}

/** The GPU's own time of a call: that of its kernels, the mean of some calls. Null without timestamps. */
async function kernelTime(timed, problem, heat) {
  const opened = await openCase(timed, problem);
  try {
    await opened.call();
    await heat(HEAT_MILLISECONDS.first);
    let sum = 0;
    for (let n = 0; n < TIMED_CALLS; n++) {
      await heat(HEAT_MILLISECONDS.call);
      await opened.call();
      await opened.settled(); // the times have arrived, too
      for (const { milliseconds } of timed.gpu.times) sum += milliseconds;
    }
    return sum > 0 ? sum / TIMED_CALLS : null;
  } finally {
    opened.release();
  }
}

const bytesOf = (shape) => bytesTouched(shape) / (shape.half ? 2 : 1);

/** Rates, and their shares of what the probes have reached on the device. */
function figuresOf(shape, milliseconds, { f32, f16, copy }) {
  const flops = operations(shape) / (milliseconds / 1e3);
  const bytes = bytesOf(shape) / (milliseconds / 1e3);
  return {
    gflops: flops / 1e9,
    gigabytesPerSecond: bytes / 1e9,
    shareOfMultiplyAdds: flops / ((shape.half && f16) || f32),
    shareOfBandwidth: bytes / copy,
  };
}

/** Peers by name: their time, and how many times longer they take; or why they do not compute the case. */
async function measurePeers(peers, problem, rows, { milliseconds, heat }) {
  const { entries, notRun } = await preparePeers(peers, problem, rows);
  const measured = Object.fromEntries(Object.entries(notRun).map(([name, reason]) => [name, { notRun: reason }]));
  for (const { name, form, submit, device, release } of entries) {
    await heat(HEAT_MILLISECONDS.first);
    const samples = await timesPerCall(submit, device, heat);
    const own = quantile(samples, 0.5);
    measured[name] = { milliseconds: own, samples, form, ratio: own / milliseconds };
    release();
  }
  return measured;
}
