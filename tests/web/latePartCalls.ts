// Calls that need the late part of the wasm module, and calls that need only the primary part. Each makes all that it needs,
// so that it can be the first call of an instance.

import {
  quantizeWeight,
  tensor,
  toFloat16,
  type Attention,
  type FloatTensor,
  type KvCacheOptions,
  type LayerOptions,
} from "headwise";
import { formula } from "headwise/formula";

import { randomTensor } from "./randomTensor.js";

export type Use = (hw: Attention) => Promise<object>;

const [S, D] = [70, 16];
const q = randomTensor(1, [1, 4, S, D]);
const k = randomTensor(2, [1, 2, S, D]);
const v = randomTensor(3, [1, 2, S, D]);
const gradient = randomTensor(4, [1, 4, S, D]);
const few = randomTensor(33, [1, 4, 2, D]);
const halfKeys = toFloat16(k);
const causal = { causal: true } as const;

const weights = {
  Wq: randomTensor(11, [16, 32]),
  Wk: randomTensor(12, [16, 16]),
  Wv: randomTensor(13, [16, 16]),
  Wo: randomTensor(14, [32, 16]),
};
const halfWeights = {
  Wq: toFloat16(weights.Wq),
  Wk: toFloat16(weights.Wk),
  Wv: toFloat16(weights.Wv),
  Wo: toFloat16(weights.Wo),
};
const x = randomTensor(5, [2, 9, 16]);
const one = randomTensor(6, [2, 1, 16]);
const form: LayerOptions = { numHeads: 4, weights };

const attends =
  (options: Parameters<Attention["scaledDotProductAttention"]>[3]): Use =>
  (hw) =>
    hw.scaledDotProductAttention(q, k, v, { numKvHeads: 2, ...options } as never);

/** A call of a layer, which is then disposed. */
const forwards =
  (options: Partial<LayerOptions>, given: object = {}, input: FloatTensor = x): Use =>
  async (hw) => {
    using layer = await hw.multiHeadAttention({ ...form, ...options });
    return layer.forward(input, given);
  };

/** A cache that has tokens, and one call that attends to them. */
const caches =
  (options: Partial<KvCacheOptions>, given: object = {}, length = 300): Use =>
  async (hw) => {
    using cache = await hw.kvCache({ numKvHeads: 2, headDim: D, ...options });
    await cache.append(randomTensor(7, [1, 2, length, D]), randomTensor(8, [1, 2, length, D]));
    return cache.attend(randomTensor(9, [1, 4, 3, D]), { causal: true, ...given });
  };

/** What the late part is for: each call needs it. */
export const LATE: Readonly<Record<string, Use>> = {
  "attention with a score formula": attends({ score: formula("s - 0.1 * abs(q - k)") }),
  "attention with a visible formula": attends({ visible: formula("k <= q") }),
  "attention with entropy": attends({ ...causal, returns: { entropy: true } }),
  "attention with topK": attends({ ...causal, returns: { topK: { k: 3 } } }),
  "attention with scores": attends({ ...causal, returns: { scores: "raw" } }),
  "a cache with topK": caches({}, { returns: { topK: 3 } }),
  "a layer with entropy": forwards({}, { returns: { entropy: true } }),
  "a cache that loses tokens": async (hw) => {
    using cache = await hw.kvCache({ numKvHeads: 2, headDim: D });
    await cache.append(k, v);
    await cache.remove(3, 5);
    return cache.attend(q, causal);
  },
  attentionBackward: async (hw) => {
    const shared = { query: q, key: k, value: v, numKvHeads: 2, ...causal };
    const { query, key, value, ...options } = shared;
    const { output, lse } = await hw.scaledDotProductAttention(query, key, value, {
      ...options,
      returns: { output: true, lse: true },
    });
    return hw.attentionBackward({ ...shared, output, lse, dOutput: gradient });
  },
  mergeAttention: async (hw) => {
    const part = () => hw.scaledDotProductAttention(q, k, v, { numKvHeads: 2, returns: { output: true, lse: true } });
    return hw.mergeAttention([await part(), await part()]);
  },
  linear: (hw) => hw.linear(one, weights.Wq),
  "linear with int8": (hw) => hw.linear(one, quantizeWeight(weights.Wq)),
  linearBackward: (hw) => hw.linearBackward({ x, weight: weights.Wq, dOutput: randomTensor(10, [2, 9, 32]) }),
  "saving and loading a cache": async (hw) => {
    using cache = await hw.kvCache({ numKvHeads: 2, headDim: D });
    await cache.append(k, v);
    using loaded = await hw.kvCache({ from: await cache.save() });
    return loaded.attend(q, causal);
  },
  "a cache that shows its keys": caches({}, { returns: { key: true } }),
  "a cache with a patch": caches({}, { patch: { headOutputs: { heads: [1], data: "mean" } } }),
  "a layer that shows its queries": forwards({}, { returns: { query: true } }),
  "a layer with a patch": forwards({}, { patch: { headOutputs: { heads: [1], data: "mean" } } }),
  "reading a cache": async (hw) => {
    using cache = await hw.kvCache({ numKvHeads: 2, headDim: D });
    await cache.append(k, v);
    return cache.read();
  },
  "a cache of float16": caches({ dtype: "float16" }),
  "a cache of float16 with very many keys": caches({ dtype: "float16" }, {}, 5000),
  "a cache of int8": caches({ dtype: "int8" }),
  "a cache of int8 with very many keys": caches({ dtype: "int8" }, {}, 5000),
  "a rotary cache of int8": caches({ rotary: { base: 100 }, dtype: "int8" }),
  "attention over keys of float16": (hw) => hw.scaledDotProductAttention(few, halfKeys, v, { numKvHeads: 2 }),
  "attention over values of float16": (hw) => hw.scaledDotProductAttention(few, k, halfKeys, { numKvHeads: 2 }),
  "a layer with a cache of float16": async (hw) => {
    using layer = await hw.multiHeadAttention(form);
    using cache = await layer.kvCache({ batchSize: 2, dtype: "float16" });
    await layer.forward(x, { cache, causal: true });
    return layer.forward(one, { cache, causal: true });
  },
  "a layer of weights in float16, kept in float32": forwards({ weights: halfWeights }),
  "a layer that takes over weights in float16": async (hw) => {
    using layer = await hw.multiHeadAttention(form);
    await layer.update({ Wq: halfWeights.Wq });
    return layer.forward(x);
  },
  "a layer of int8": forwards({ weightDtype: "int8" }, {}, one),
  "a layer of float16": forwards({ weightDtype: "float16" }),
  "a layer's gradients": async (hw) => {
    using layer = await hw.multiHeadAttention(form);
    const { output, saved } = await layer.forward(x, { save: true });
    return layer.backward(saved, randomTensor(15, output.shape));
  },
};

/** Calls that must work without the late part. The case table has those of attention with output and lse alone. */
export const PLAIN: Readonly<Record<string, Use>> = {
  "attention with probs": attends({ ...causal, returns: { probs: true } }),
  "a cache with probs": caches({}, { returns: { probs: true } }),
  "a layer with probs": forwards({}, { returns: { probs: true } }),
  "a layer": forwards({}),
  "a layer, causal, in a window": forwards({}, { causal: true, window: { left: 3 } }),
  "a layer with rotary positions": forwards({ position: { kind: "rotary" } }, causal),
  "a layer with sinusoidal positions": forwards({ position: { kind: "sinusoidal" } }),
  "a layer with learned positions": forwards({ position: { kind: "learned", table: randomTensor(16, [20, 16]) } }),
  "a layer with norms of queries and keys": forwards({ qkNorm: { kind: "rms" } }),
  "a layer with dropout": forwards({}, { dropout: { rate: 0.3, seed: 5 } }),
  "a layer with a mask": forwards(
    {},
    {
      mask: tensor(
        Uint8Array.from({ length: 81 }, (_, n) => n % 3),
        [9, 9],
      ),
    },
  ),
  "a layer with padding": forwards({}, { keyLengths: [4, 9] }),
  "a layer with a context": forwards({}, { key: randomTensor(17, [2, 5, 16]), value: randomTensor(18, [2, 5, 16]) }),
  "a layer of rows in float16": forwards({}, {}, toFloat16(x)),
  "attention of queries in float16": (hw) => hw.scaledDotProductAttention(toFloat16(q), k, v, { numKvHeads: 2 }),
  "a layer with other weights": async (hw) => {
    using layer = await hw.multiHeadAttention(form);
    await layer.update({ Wq: randomTensor(19, [16, 32]) });
    return layer.forward(x);
  },
  "a layer that generates": async (hw) => {
    using layer = await hw.multiHeadAttention({ ...form, position: { kind: "rotary" } });
    using cache = await layer.kvCache({ batchSize: 2 });
    await layer.forward(x, { cache, causal: true });
    return layer.forward(one, { cache, causal: true });
  },
  "a cache": caches({}),
  "a cache with few keys": caches({}, {}, 3),
  "a cache with very many keys": caches({}, {}, 5000),
  "a ring": caches({ ring: { keepFirst: 1, window: 20 } }, { window: { left: 5 } }),
  "a ring whose positions are its places": async (hw) => {
    using cache = await hw.kvCache({
      numKvHeads: 2,
      headDim: D,
      ring: { keepFirst: 1, window: 20, positions: "cache" },
      rotary: { base: 100 },
    });
    const step = (length: number, seed: number) =>
      cache.step(
        randomTensor(seed, [1, 4, length, D]),
        randomTensor(seed + 1, [1, 2, length, D]),
        randomTensor(seed + 2, [1, 2, length, D]),
        { causal: true },
      );
    for (let n = 0; n < 6; ++n) await step(5, 30 + n);
    return step(1, 50);
  },
  "a rotary cache": caches({ rotary: { base: 100 } }),
  "a cache with all rules": caches(
    {},
    {
      window: { left: 40 },
      softcap: 5,
      alibiSlopes: [0.1, 0.2, 0.3, 0.4],
      sinks: [0, 1, 2, 3],
      headGain: [1, 0.5, 2, 0],
      bias: randomTensor(20, [3, 300]),
      returns: { output: true, lse: true },
    },
  ),
  "a cache that is edited": async (hw) => {
    using cache = await hw.kvCache({ batchSize: 2, numKvHeads: 2, headDim: D });
    const tokens = (seed: number, length: number) => randomTensor(seed, [2, 2, length, D]);
    await cache.append(tokens(21, 200), tokens(22, 200));
    await cache.rewind(150);
    using fork = await cache.fork();
    using slice = await fork.slice(10, 140);
    await slice.select([1, 0]);
    await slice.append(tokens(23, 5), tokens(24, 5), { lengths: [5, 2] });
    return slice.step(randomTensor(25, [2, 4, 1, D]), tokens(26, 1), tokens(27, 1), { causal: true });
  },
  "rotary embedding": (hw) => hw.rotaryEmbedding(q, { base: 100 }),
  warmup: async (hw) => {
    await hw.warmup({ numHeads: 4, queryLength: 8, headDim: 16 });
    return {};
  },
};
