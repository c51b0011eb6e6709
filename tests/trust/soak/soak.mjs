// node --expose-gc soak.mjs REPORT ENGINE CALLS WARM_UP SEED [LEAK]: makes mixed calls on one instance, in a random order,
// and writes what the process held after the first WARM_UP of them. ENGINE is wasm or webgpu. LEAK keeps an array of so many bytes in each call,
// to show that it would be seen. ENGINE "null" is WebGPU on a device that computes nothing: quick, and it holds the same.

import { writeFileSync } from "node:fs";

import { createAttention, quantizeWeight, tensor, toFloat16 } from "headwise";
import { formula } from "headwise/formula";

import { bitsOf, makeCalls, randomNumbers, sameBits } from "../calls.mjs";
import { openGpu } from "./gpu.mjs";
import { countBuffers, sizes } from "./sizes.mjs";

const [report, engine, count, warmUp, seed, leak = "0"] = process.argv.slice(2);
const SAMPLES = 40;

async function open() {
  if (engine === "wasm") return createAttention({ backend: "wasm", threads: 2 });
  const gpu = await openGpu(engine === "null" ? ["backend=null"] : undefined);
  if (!gpu) return undefined;
  countBuffers();
  return createAttention({ backend: "webgpu", gpu });
}

const functions = { formula, quantizeWeight, toFloat16 };
/** Outlives all calls: each of them must take its listener away. */
const { signal } = new AbortController();

/** Calls that make and dispose objects, that are refused, and that are aborted. */
function otherCalls(hw) {
  const x = tensor(new Float32Array(32).fill(0.5), [1, 2, 4, 4]);
  const weights = Object.fromEntries(
    ["Wq", "Wk", "Wv", "Wo"].map((name) => [name, tensor(new Float32Array(16), [4, 4])]),
  );
  const code = (promise) => promise.then(() => "", (error) => error.code); // oxfmt-ignore
  return {
    async cache() {
      const cache = await hw.kvCache({ numKvHeads: 2, headDim: 4, dtype: "float16" });
      await cache.append(x, x);
      const copy = await cache.fork();
      await copy.append(x, x);
      const loaded = await hw.kvCache({ from: await copy.save() });
      const { output } = await loaded.attend(x);
      for (const each of [cache, copy, loaded]) each.dispose();
      return output;
    },
    async layer() {
      const layer = await hw.multiHeadAttention({ numHeads: 2, weights });
      const { output } = await layer.forward(tensor(new Float32Array(12).fill(1), [1, 3, 4]));
      layer.dispose();
      return output;
    },
    async allocate() {
      if (hw.report.backend === "webgpu") return hw.gpu.upload(x).then((there) => there.dispose());
      const into = hw.allocate([1, 2, 4, 4]);
      await hw.scaledDotProductAttention(x, x, x, { into });
      const output = into.data.slice();
      into.dispose();
      return output;
    },
    refused: () => code(hw.scaledDotProductAttention(x, x, tensor(new Float32Array(3), [1, 3]))),
    async aborted() {
      const controller = new AbortController();
      const calls = [1, 2].map(() => code(hw.linear(x, weights.Wq, undefined, { signal: controller.signal })));
      controller.abort();
      return (await Promise.all(calls)).length;
    },
  };
}

const hw = await open();
if (!hw) {
  writeFileSync(report, JSON.stringify({ missing: "no WebGPU adapter here" }));
  process.exit(0);
}
const small = await makeCalls(hw, functions, { heads: 2, length: 5, dim: 4 });
const repeated = Object.values(small.calls);
const all = [...repeated.map((call) => () => call({ signal })), ...Object.values(otherCalls(hw))];

const bitsOfAll = async () => {
  const bits = [];
  for (const call of repeated) bits.push(bitsOf(await call()));
  return bits;
};

const random = randomNumbers(Number(seed));
const leaked = [];
async function makeSome(calls) {
  for (let n = 0; n < calls; ++n) {
    await all[Math.floor(((random() + 1) / 2) * all.length)]();
    if (leak !== "0") leaked.push(new Uint8Array(Number(leak)));
  }
}

const first = await bitsOfAll();
for (const call of all) await call();
await makeSome(Number(warmUp)); // they compile, and grow what grows with the largest call
const samples = [];
const perSample = Math.round((count - warmUp) / SAMPLES);
for (let sample = 0; sample < SAMPLES; ++sample) {
  await makeSome(perSample);
  samples.push(await sizes([signal]));
}
const last = await bitsOfAll();
// The null device gives what was in its memory before.
const isSame = engine === "null" ? undefined : first.every((bits, n) => sameBits(bits, last[n]));
for (const each of [small, hw]) each.dispose();
const { backend, variant, threads } = hw.report;
writeFileSync(
  report,
  JSON.stringify({
    backend,
    variant,
    threads,
    calls: Number(count),
    kinds: all.length,
    sampled: SAMPLES * perSample,
    isSame,
    samples,
  }),
);
process.exit(0); // a GPU object keeps the process alive
