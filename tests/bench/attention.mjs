// npm run bench: attention in Node, for every variant this engine has, on one thread and on all.
//
// Recipe: an idle machine, power plugged in. Every row is first computed once and looked at (a softmax of equal scores
// must give the mean of the values), then timed for about a second; the best run counts, since everything that disturbs
// a run makes it longer. Pairs that causality hides are not counted as work.

import { availableParallelism } from "node:os";

import { createAttention, tensor } from "headwise";

const CASES = [
  { name: "12 heads x 512 x 64", heads: 12, queries: 512, keys: 512, dim: 64 },
  { name: "12 heads x 1024 x 64, causal", heads: 12, queries: 1024, keys: 1024, dim: 64, causal: true },
  { name: "8 heads x 1024 x 128", heads: 8, queries: 1024, keys: 1024, dim: 128 },
  { name: "decode: 32 heads x 1 x 2048 x 128", heads: 32, queries: 1, keys: 2048, dim: 128 },
];

async function available(variant, threads) {
  try {
    return await createAttention({ backend: "wasm", variant, threads });
  } catch (error) {
    console.log(`${variant}, ${threads} ${threads === 1 ? "thread" : "threads"}: left out (${error.message})`);
    return undefined;
  }
}

const noise = (length) => Float32Array.from({ length }, () => Math.random() - 0.5);

function arraysOf({ heads, queries, keys, dim }) {
  const rows = (length) => tensor(noise(heads * length * dim), [1, heads, length, dim]);
  return { query: rows(queries), key: rows(keys), value: rows(keys) };
}

/** Equal scores weigh all values alike, so every output row is the mean of its head's values. */
async function check(hw, { heads, keys, dim }, { query, key, value }) {
  const { output } = await hw.scaledDotProductAttention(query, key, value, { scale: 0 });
  for (let head = 0; head < heads; head++) {
    let mean = 0;
    for (let j = 0; j < keys; j++) mean += value.data[(head * keys + j) * dim] / keys;
    const first = output.data[(head * output.shape[2] + 0) * dim];
    if (!(Math.abs(first - mean) < 1e-5)) throw new Error(`wrong result: ${first} instead of ${mean}`);
  }
}

async function bestMilliseconds(action) {
  let best = Infinity;
  for (const end = performance.now() + 1000; performance.now() < end;) {
    const start = performance.now();
    await action();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

function flops({ heads, queries, keys, dim, causal }) {
  const pairs = causal ? (queries * (queries + 1)) / 2 : queries * keys;
  return heads * pairs * dim * 4; // a multiply and an add, for the scores and for the values
}

for (const variant of ["simd", "relaxed"]) {
  for (const threads of new Set([1, availableParallelism()])) {
    const hw = await available(variant, threads);
    if (!hw) continue;
    console.log(`\n${variant}, ${threads} ${threads === 1 ? "thread" : "threads"}`);
    for (const shape of CASES) {
      const { query, key, value } = arraysOf(shape);
      await check(hw, shape, { query, key, value });
      const options = shape.causal ? { causal: "upper-left" } : {};
      const ms = await bestMilliseconds(() => hw.scaledDotProductAttention(query, key, value, options));
      const rate = flops(shape) / ms / 1e6;
      console.log(`  ${shape.name.padEnd(36)} ${ms.toFixed(2).padStart(8)} ms ${rate.toFixed(1).padStart(7)} GFLOP/s`);
    }
    await hw.dispose();
  }
}
