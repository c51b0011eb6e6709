// The calls that soak, concurrency and determinism repeat: every operation with many of its options. They run in Node
// and in pages. The same sizes always give the same numbers.

/** Uniform numbers in ±1 that depend only on the seed (mulberry32). */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word = (word + Math.imul(word ^ (word >>> 7), word | 61)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}

function randomTensor(seed, ...shape) {
  const next = randomNumbers(seed);
  return { data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, next), shape, dtype: "float32" };
}

/** Three quarters of the keys are visible; the first one always is. */
function randomMask(queries, keys) {
  const next = randomNumbers(8);
  const data = Uint8Array.from({ length: queries * keys }, (_, n) => Number(n % keys === 0 || next() < 0.5));
  return { data, shape: [queries, keys], dtype: "bool" };
}

const EVERY = { output: true, lse: true, entropy: true, probs: true, topK: 2, scores: "biased" };

/**
 * @param {object} hw - an instance
 * @param {{ formula: Function, quantizeWeight: Function, toFloat16: Function }} functions - of headwise
 * @param {{ heads: number, length: number, dim: number }} sizes - `heads` is even
 * @returns {Promise<{ calls: Record<string, (more?: object) => Promise<object>>, dispose: () => void }>} each call takes
 *   more options, for example `signal`, and resolves to its results
 */
export async function makeCalls(hw, { formula, quantizeWeight, toFloat16 }, { heads, length, dim }) {
  const width = heads * dim;
  const [q, k, v, dOutput] = [1, 2, 3, 4].map((seed) => randomTensor(seed, 1, heads, length, dim));
  const [fewKeys, fewValues] = [5, 6].map((seed) => randomTensor(seed, 1, heads / 2, length, dim));
  const bias = randomTensor(7, heads, length, length);
  const mask = randomMask(length, length);
  const sinks = randomTensor(9, heads).data;
  const slopes = Float32Array.from({ length: heads }, (_, h) => 2 ** -(h + 1));
  const score = formula("s - slope[h] * abs(q - k) + table[j]", {
    slope: slopes,
    table: randomTensor(10, length).data,
  });
  const visible = formula("k <= q || (k < 2)");
  const x = randomTensor(11, 1, length, width);
  const dY = randomTensor(12, 1, length, width);
  const square = (seed) => randomTensor(seed, width, width);
  const weights = { Wq: square(13), Wk: square(14), Wv: square(15), Wo: square(16) };
  const halves = [q, k, v].map(toFloat16);
  const [half, bytes] = [toFloat16(square(13)), quantizeWeight(square(13))];
  const token = (seed, count) => randomTensor(seed, 1, count, 1, dim);
  const step = [token(17, heads), token(18, heads / 2), token(19, heads / 2)];
  const ragged = [q, k, v].map(({ data }) => ({ data, shape: [1, length, heads, dim] }));
  const starts = [0, Math.floor(length / 3), length];

  const { output, lse } = await hw.scaledDotProductAttention(q, k, v, { returns: { output: true, lse: true } });
  const layer = await hw.multiHeadAttention({ numHeads: heads, position: { kind: "rotary" }, weights });
  const layerCache = await layer.kvCache();
  const table = randomTensor(20, length, width);
  const gain = randomTensor(21, width);
  const rows = Int32Array.from({ length }, (_, n) => length - 1 - n);
  const recorded = (cache, more) =>
    hw.record(
      (recorder) => {
        const given = recorder.rows(table, recorder.numbers("rows", length));
        const seen = recorder.layer(layer, recorder.rmsNorm(given, gain), { cache, causal: true });
        const y = recorder.linear(recorder.activation(recorder.add(given, seen), "silu"), weights.Wo);
        return { y, probs: recorder.softmax(y), top: recorder.topK(y, 2).indices };
      },
      { ...more },
    );
  const steps = { alone: await recorded(), cached: await recorded(layerCache) };
  const caches = {};
  for (const dtype of ["float32", "float16", "int8"]) {
    caches[dtype] = await hw.kvCache({ numKvHeads: heads / 2, headDim: dim, dtype, rotary: {} });
    await caches[dtype].append(fewKeys, fewValues);
  }

  const attention = (options) => (more) => hw.scaledDotProductAttention(q, k, v, { ...options, ...more });
  const backward = (options) => (more) =>
    hw.attentionBackward({ query: q, key: k, value: v, output, lse, dOutput, ...options, ...more });
  const product = (weight) => async (more) => ({ y: await hw.linear(x, weight, undefined, more) });
  const decoding = (cache) => async (more) => {
    const result = await cache.step(...step, { ...more });
    await cache.rewind(length);
    return result;
  };

  const calls = {
    attention: attention({}),
    "attention, causal, every result": attention({ causal: true, returns: EVERY }),
    "attention, mask, bias and sinks": attention({ mask, bias, sinks, returns: { output: true, lse: true } }),
    "attention, window, ALiBi and softcap": attention({
      window: { left: 3, right: 0 },
      alibiSlopes: slopes,
      softcap: 5,
      returns: { output: true, topK: { k: 2, average: true } },
    }),
    "attention, formulas": attention({ score, visible }),
    "attention, shared key heads": (more) => hw.scaledDotProductAttention(q, fewKeys, fewValues, { ...more }),
    "attention, float16": (more) => hw.scaledDotProductAttention(...halves, { ...more }),
    "attention, ragged": (more) =>
      hw.scaledDotProductAttention(...ragged, {
        layout: "BSHD",
        cuSeqLensQuery: starts,
        cuSeqLensKey: starts,
        causal: true,
        ...more,
      }),
    "attention, backward": backward({}),
    "attention, backward of bias, sinks and formula": backward({
      bias,
      sinks,
      score,
      returns: { dQuery: true, dBias: true, dSinks: true, dHeadGain: true, dTables: true },
    }),
    linear: product(weights.Wq),
    "linear, float16": product(half),
    "linear, int8": product(bytes),
    "linear, backward": (more) => hw.linearBackward({ x, weight: weights.Wq, dOutput: dY, ...more }),
    rotary: async (more) => ({ y: await hw.rotaryEmbedding(q, { base: 500, ...more }) }),
    merge: (more) =>
      hw.mergeAttention(
        [
          { output, lse },
          { output: q, lse },
        ],
        { ...more },
      ),
    layer: (more) => layer.forward(x, { causal: true, ...more }),
    "layer, inside": (more) =>
      layer.forward(x, { returns: { output: true, query: true, headOutputs: true, probs: { queries: [0] } }, ...more }),
    "layer, backward": async (more) => {
      const { output, saved } = await layer.forward(x, { causal: true, save: true, ...more });
      return { output, ...(await layer.backward(saved, dY)) };
    },
    "cache, float32": decoding(caches.float32),
    "cache, float16": decoding(caches.float16),
    "cache, int8": decoding(caches.int8),
    "cache, attend": (more) => caches.float32.attend(q, { causal: true, ...more }),
    "recorded step": (more) => steps.alone.run({ rows }, { ...more }),
    "recorded step, cache": async (more) => {
      const result = await steps.cached.run({ rows }, { ...more });
      await layerCache.rewind(0);
      return result;
    },
    "recorded step, made and disposed": async (more) => {
      const made = await recorded(undefined, more);
      try {
        return await made.run({ rows }, { ...more });
      } finally {
        made.dispose();
      }
    },
  };
  const dispose = () => {
    for (const object of [...Object.values(steps), layerCache, layer, ...Object.values(caches)]) object.dispose();
  };
  return { calls, dispose };
}

/** Every typed array of a result, in order, as bytes. */
export function bytesOf(result) {
  if (ArrayBuffer.isView(result)) return [new Uint8Array(result.buffer, result.byteOffset, result.byteLength)];
  if (typeof result !== "object" || result === null) return [];
  return Object.values(result).flatMap(bytesOf);
}

/** The bytes of a result, copied into one array. */
export function bitsOf(result) {
  const parts = bytesOf(result);
  const bits = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bits.set(part, at);
    at += part.length;
  }
  return bits;
}

/** Whether two arrays of bytes are equal. */
export function sameBits(a, b) {
  if (a.length !== b.length) return false;
  for (let n = 0; n < a.length; ++n) if (a[n] !== b[n]) return false;
  return true;
}
