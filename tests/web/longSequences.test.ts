// Properties of long sequences that can be tested without a matrix of all pairs. The memory limit is part of the test:
// a call that needs more than 64 MiB in addition to its tensors ends with OutOfMemoryError.

import { expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { variants } from "./engines.js";
import { randomTensor } from "./randomTensor.js";

const MIB = 2 ** 20;
/** The memory of an engine before any call. It includes the program and the stacks of its threads. */
const AT_REST = 16 * MIB;
const SCRATCH = 64 * MIB;

const { exp, log, sqrt } = Math;

/** The probabilities of one query row by definition, in double precision. */
function weightsOf(query: Float32Array, keys: Float32Array, width: number): Float64Array {
  const scores = new Float64Array(keys.length / width);
  for (let j = 0; j < scores.length; j++) {
    let dot = 0;
    for (let d = 0; d < width; d++) dot += query[d]! * keys[j * width + d]!;
    scores[j] = exp(dot / sqrt(width)); // the scores are small, so exp needs no maximum
  }
  const sum = scores.reduce((a, b) => a + b);
  return scores.map((score) => score / sum);
}

async function withEngine(tensorBytes: number, use: (hw: Attention) => Promise<void>): Promise<void> {
  const maximumMemory = AT_REST + tensorBytes + SCRATCH;
  const hw = await createAttention({ backend: "wasm", variant: variants[0]!, threads: 2, maximumMemory });
  try {
    await use(hw);
  } finally {
    hw.dispose();
  }
}

const CASES = [
  { queries: 16_384, keys: 16_384, width: 16, looked: [0, 8_191, 16_383] },
  { queries: 40, keys: 32_768, width: 64, looked: [0, 39] },
  { queries: 40, keys: 65_536, width: 64, looked: [0, 39] },
];

test.each(CASES)(
  "$queries queries on $keys keys, every statistic and top-k of all rows, in 64 MiB of scratch",
  async ({ queries, keys, width, looked }) => {
    const [query, key, value] = [
      randomTensor(1, [1, 1, queries, width]),
      randomTensor(2, [1, 1, keys, width]),
      randomTensor(3, [1, 1, keys, width]),
    ];
    const slice = { heads: [0], queries: looked };
    const k = 4;
    const results = queries * (width + 2 + 2 * k) + 2 * looked.length * keys;
    await withEngine(4 * ((queries + 2 * keys) * width + results), async (hw) => {
      const { lse, entropy, probs, scores, topK } = await hw.scaledDotProductAttention(query, key, value, {
        returns: {
          output: true,
          lse: true,
          entropy: true,
          probs: slice,
          topK: k,
          scores: { stage: "biased", ...slice },
        },
      });
      expect([probs.shape, scores.shape]).toEqual(Array(2).fill([1, 1, looked.length, keys]));
      expect(topK.indices.shape).toEqual([1, 1, queries, k]);
      looked.forEach((row, n) => {
        const weights = weightsOf(query.data.subarray(row * width, (row + 1) * width), key.data, width);
        const seen = probs.data.subarray(n * keys, (n + 1) * keys);
        // the relative error of p is at most 2 max|Δs| + 16 ε; here |Δs| ≤ (4 + D/4) ε Σ|q k| scale < 1e-5
        weights.forEach((weight, j) => {
          if (Math.abs(seen[j]! - weight) > 3e-5 * weight)
            throw new Error(`p[${row}][${j}] is ${seen[j]}, not ${weight}`);
        });
        expect(entropy.data[row]).toBeCloseTo(-weights.reduce((sum, p) => sum + p * log(p), 0), 3);
        expect(scores.data[n * keys]! - lse.data[row]!).toBeCloseTo(log(weights[0]!), 4);
        const best = [...weights.keys()].sort((a, b) => weights[b]! - weights[a]!).slice(0, k);
        expect([...topK.indices.data.subarray(row * k, (row + 1) * k)]).toEqual(best);
      });
    });
  },
);

test("what a matrix of all pairs needs does not fit there", async () => {
  const x = randomTensor(4, [1, 1, 16_384, 16]);
  await withEngine(4 * 4 * x.data.length, async (hw) => {
    await expect(hw.scaledDotProductAttention(x, x, x, { returns: { probs: true } })).rejects.toMatchObject({
      code: "OUT_OF_MEMORY",
    });
  });
});

test("every gradient of 16384 queries on 16384 keys, in 64 MiB of scratch", async () => {
  const [length, width] = [16_384, 16];
  const tensor = (seed: number) => randomTensor(seed, [1, 1, length, width]);
  const [query, key, value, dOutput] = [tensor(1), tensor(2), tensor(3), tensor(4)];
  const bias = randomTensor(5, [length]);
  const call = { query, key, value, bias, sinks: [1], alibiSlopes: [2 ** -12], causal: true };
  const returns = { dQuery: true, dKey: true, dValue: true, dBias: true, dSinks: true, dHeadGain: true, dAlibiSlopes: true } as const; // oxfmt-ignore
  await withEngine(4 * length * (8 * width + 3), async (hw) => {
    const { output, lse } = await hw.scaledDotProductAttention(query, key, value, {
      bias,
      sinks: [1],
      alibiSlopes: [2 ** -12],
      causal: true,
      returns: { lse: true },
    });
    const gradients = await hw.attentionBackward({ ...call, output, lse, dOutput, returns });
    for (const name of Object.keys(returns) as (keyof typeof returns)[])
      expect([name, gradients[name].data.every(Number.isFinite)]).toEqual([name, true]);
    // Each row's gradients of scores and of the sink sum to 0, and dOutput · output is the sum of dValue · value.
    const sum = (data: Float32Array) => data.reduce((total, x) => total + x, 0);
    const dot = (a: Float32Array, b: Float32Array) => a.reduce((total, x, n) => total + x * b[n]!, 0);
    expect(sum(gradients.dBias.data) + gradients.dSinks.data[0]!).toBeCloseTo(0, 2);
    const expected = dot(dOutput.data, output.data);
    expect(dot(gradients.dValue.data, value.data)).toBeCloseTo(expected, 2);
    expect(gradients.dHeadGain.data[0]).toBeCloseTo(expected, 2);
  });
});
