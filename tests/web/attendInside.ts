/**
 * What attention over a cache shows and overwrites of its inside, by its definition in double precision, and calls for
 * the tests of all engines. It is independent of every engine.
 */

import type { AttendOptions, KvCacheOptions, TypedTensor } from "headwise";

import { randomTensor } from "./randomTensor.js";
import { EPSILON } from "../attention-conformance/reference/reference.js";

export type Floats = TypedTensor<"float32">;

export const [B, S, HEADS, KV, D, DV] = [2, 6, 4, 2, 6, 5];
const GROUP = HEADS / KV;
/** Tokens that the tests append: all in batch 0, fewer in batch 1. */
export const TOKENS = [9, 7];
/** Rows of the fullest batch. */
export const LENGTH = 9;

export const query = randomTensor(1, [B, HEADS, S, D]);
export const key = randomTensor(2, [B, KV, LENGTH, D]);
export const value = randomTensor(3, [B, KV, LENGTH, DV]);

export const everything = { query: true, key: true, value: true, headOutputs: true } as const;

/** Caches that store what was appended as it is. */
export const CACHES: readonly [string, Omit<KvCacheOptions, "batchSize" | "numKvHeads" | "headDim" | "valueDim">][] = [
  ["float32", {}],
  ["float16", { dtype: "float16" }],
  ["int8", { dtype: "int8" }],
  ["a ring of int8", { dtype: "int8", ring: { keepFirst: 1, window: 5 } }],
  ["rotary", { rotary: { base: 50 } }],
];

/** Where the queries of a causal call stand: a ring has dropped the tokens before earlier ones. */
export const placed = (cache: Partial<KvCacheOptions>) => (cache.ring ? { queryOffset: LENGTH - 1 } : {});

/** Options of attend that change what a row sees. */
export const SETTINGS: readonly [string, Omit<AttendOptions, "location" | "returns">][] = [
  ["no options", {}],
  ["causal", { causal: true }],
  ["padding", { queryLengths: [6, 3], keyLengths: [5, 4] }],
  ["gains of heads and sinks", { headGain: [1, 0.5, -2, 0], sinks: [0, 1, 2, 3] }],
];

/** The number of a row in [B, heads, rows]. */
export const rowOf = (heads: number, rows: number, b: number, h: number, r: number) => (b * heads + h) * rows + r;

/** The chosen heads and rows of a tensor [B, heads, rows, width]. */
export function chosen({ data, shape }: Floats, heads: readonly number[], rows: readonly number[]): Floats {
  const [batch, numHeads, numRows, width] = shape as [number, number, number, number];
  const parts = Array.from({ length: batch }, (_, b) =>
    heads.flatMap((h) =>
      rows.map((r) => {
        const from = rowOf(numHeads, numRows, b, h, r) * width;
        return [...data.subarray(from, from + width)];
      }),
    ),
  );
  return {
    data: Float32Array.from(parts.flat(2)),
    shape: [batch, heads.length, rows.length, width],
    dtype: "float32",
  };
}

/** Sums of values by weight, [B, HEADS, rows, DV], with the error that float32 may have. */
export function weighed(probs: Floats, values: Floats, gains: ArrayLike<number> = [1, 1, 1, 1]) {
  const [, , rows, keys] = probs.shape as [number, number, number, number];
  const sums = new Float64Array(B * HEADS * rows * DV);
  const sizes = new Float64Array(sums.length);
  for (let b = 0; b < B; ++b)
    for (let h = 0; h < HEADS; ++h)
      for (let i = 0; i < rows; ++i)
        for (let j = 0; j < keys; ++j) {
          const p = probs.data[rowOf(HEADS, rows, b, h, i) * keys + j]! * gains[h]!;
          if (p === 0) continue; // also if the value is NaN
          for (let d = 0; d < DV; ++d) {
            const term = p * values.data[rowOf(KV, keys, b, Math.floor(h / GROUP), j) * DV + d]!;
            const at = rowOf(HEADS, rows, b, h, i) * DV + d;
            sums[at]! += term;
            sizes[at]! += Math.abs(term);
          }
        }
  // each product and each sum of up to `keys` numbers rounds once; the gain and the division round once more
  return { values: sums, tolerance: sizes.map((size) => (keys + 6) * EPSILON * size) };
}

/** Queries turned by a rotary embedding of halves, with the error that float32 may have. */
export function turned({ data, shape }: Floats, base: number, positionOf: (b: number, i: number) => number) {
  const [, heads, rows, width] = shape as [number, number, number, number];
  const values = Float64Array.from(data);
  const tolerance = new Float64Array(data.length);
  const half = width / 2;
  for (let row = 0; row < data.length / width; ++row) {
    const at = positionOf(Math.floor(row / (heads * rows)), row % rows);
    for (let m = 0; m < half; ++m) {
      const angle = at * base ** ((-2 * m) / width);
      const [low, high] = [data[row * width + m]!, data[row * width + m + half]!];
      values[row * width + m] = Math.cos(angle) * low - Math.sin(angle) * high;
      values[row * width + m + half] = Math.cos(angle) * high + Math.sin(angle) * low;
      tolerance.fill(4 * EPSILON * (Math.abs(low) + Math.abs(high)), row * width + m, row * width + m + 1);
      tolerance[row * width + m + half] = tolerance[row * width + m]!;
    }
  }
  return { values, tolerance };
}
