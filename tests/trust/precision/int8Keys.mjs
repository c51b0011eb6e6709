// node tests/trust/precision/int8Keys.mjs: how much attention weight int8 storage of keys moves, as the table of
// int8Keys.md, which is a part of the page on precision. The keys have the statistics that papers report of models
// (KIVI, Liu et al. 2024; KVQuant, Hooper et al. 2024; llama.cpp #21385): they are made here, not read from a model.

import { createAttention } from "headwise";

const [WIDTH, KEYS, QUERIES] = [128, 256, 8];
const BLOCK = 32;

/** Numbers between 0 and 1 (mulberry32). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

const next = generator(5);
const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());

/** Keys whose feature d has the mean mean(d) and the deviation deviation(d). */
const keysOf = (mean, deviation = () => 2) =>
  Float32Array.from({ length: KEYS * WIDTH }, (_, n) => mean(n % WIDTH) + deviation(n % WIDTH) * normal());

const ownMeans = Float64Array.from({ length: WIDTH }, () => 4 * normal());
const constant = (size, feature) => (d) => (d === feature ? size : 0);

/** Kinds of keys, and the rotary embedding of the cache. A pair of features is (d, d + 64). */
const KINDS = {
  "normal numbers": { keys: keysOf(() => 0) },
  "every feature with a mean of its own, twice its deviation": { keys: keysOf((d) => ownMeans[d]) },
  "four wide features, ten times the deviation (Llama 2)": { keys: keysOf(() => 0, (d) => (d % 32 === 5 ? 20 : 2)) }, // oxfmt-ignore
  "one constant feature of 50": { keys: keysOf(constant(50, 37)) },
  "one constant feature of 400 (Qwen 2)": { keys: keysOf(constant(400, 37)) },
  "the same, turned: a slow pair, base 10⁶": { keys: keysOf(constant(400, 60)), rotary: { base: 1e6 } },
  "the same, turned: the fastest pair, base 10⁶": { keys: keysOf(constant(400, 0)), rotary: { base: 1e6 } },
};

/** Keys with one scale for every `width` numbers, and nothing subtracted. */
function rounded(keys, width) {
  const result = keys.slice();
  for (let first = 0; first < keys.length; first += width) {
    const scale = Math.max(...keys.subarray(first, first + width).map(Math.abs)) / 127;
    for (let n = first; n < first + width; ++n) result[n] = Math.round(keys[n] / scale) * scale;
  }
  return result;
}

const value = { data: new Float32Array(KEYS * WIDTH), shape: [1, 1, KEYS, WIDTH] };
const query = { data: Float32Array.from({ length: QUERIES * WIDTH }, normal), shape: [1, 1, QUERIES, WIDTH] };

async function cacheOf(hw, keys, options) {
  const cache = await hw.kvCache({ numKvHeads: 1, headDim: WIDTH, ...options });
  await cache.append({ data: keys, shape: value.shape }, value);
  return cache;
}

async function weights(hw, keys, options) {
  const cache = await cacheOf(hw, keys, options);
  const { probs } = await cache.attend(query, { returns: { probs: true } });
  cache.dispose();
  return probs.data;
}

/** The keys as a cache stores them: turned. */
async function turned(hw, keys, rotary) {
  const cache = await cacheOf(hw, keys, { rotary });
  const { key } = await cache.read();
  cache.dispose();
  return key.data;
}

const hw = await createAttention({ backend: "wasm", threads: 1 });
console.log("| keys | float16 | int8 | blocks of 32, nothing subtracted (q8_0) | one scale a row (int8 before) |");
console.log("|---|---|---|---|---|");
for (const [name, { keys, rotary }] of Object.entries(KINDS)) {
  const stored = rotary ? await turned(hw, keys, rotary) : keys;
  const exact = await weights(hw, stored, {});
  const moved = (other) => {
    const sum = other.reduce((all, x, n) => all + Math.abs(x - exact[n]), 0);
    return `${((100 * sum) / 2 / QUERIES).toFixed(2)} %`;
  };
  const columns = [
    moved(await weights(hw, stored, { dtype: "float16" })),
    moved(await weights(hw, stored, { dtype: "int8" })),
    moved(await weights(hw, rounded(stored, BLOCK))),
    moved(await weights(hw, rounded(stored, WIDTH))),
  ];
  console.log(`| ${name} | ${columns.join(" | ")} |`);
}
await hw.dispose();
