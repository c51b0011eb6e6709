/** Layers and calls whose inside the tests of views and patches look at, with their definition in double precision. */

import type { ForwardOptions, LayerOptions, TypedTensor } from "headwise";

import { randomTensor } from "../web/randomTensor.js";
import type { InsideCall, InsideLayer } from "./layerInsideReference.js";
import { weight } from "./layerWeights.js";

export type Floats = TypedTensor<"float32">;

/** Head widths that are no whole vec4, and heads that share keys. */
export const PLAIN: InsideLayer = {
  numHeads: 4,
  numKvHeads: 2,
  headDim: 6,
  valueHeadDim: 5,
  outputDim: 14,
  weights: {
    Wq: weight(1, 12, 24),
    bq: randomTensor(2, [24]),
    Wk: weight(3, 12, 12),
    Wv: weight(5, 12, 10),
    bv: randomTensor(6, [10]),
    Wo: weight(7, 20, 14),
    bo: randomTensor(8, [14]),
  },
};

/** Heads that are normed and turned. */
export const TURNED: InsideLayer = {
  ...PLAIN,
  headDim: 8,
  valueHeadDim: 8,
  weights: {
    Wq: weight(11, 12, 32),
    Wk: weight(12, 12, 16),
    bk: randomTensor(13, [16]),
    Wv: weight(14, 12, 16),
    Wo: weight(15, 32, 14),
    bo: randomTensor(16, [14]),
  },
  gain: randomTensor(17, [8]).data.map((g) => 1 + g / 2),
  base: 100,
};

/** Without output projection. */
export const BARE: InsideLayer = {
  ...PLAIN,
  weights: { Wq: PLAIN.weights.Wq!, Wk: PLAIN.weights.Wk!, Wv: PLAIN.weights.Wv! },
};

/** The same layer as the package makes it. */
export function layerOptions(layer: InsideLayer): LayerOptions {
  const { numHeads, numKvHeads, headDim, valueHeadDim, outputDim, weights, gain, base } = layer;
  return {
    inputDim: 12,
    modelDim: numHeads * headDim,
    valueHeadDim,
    numHeads,
    numKvHeads,
    ...(weights.Wo ? { outputDim } : { outputProjection: false }),
    weights: weights as LayerOptions["weights"],
    ...(gain && { qkNorm: { kind: "rms", gain: gain as Float32Array } }),
    ...(base !== undefined && { position: { kind: "rotary", base } }),
  };
}

/** A call: its inputs and options. */
export interface Given {
  readonly layer: InsideLayer;
  readonly x: Floats;
  readonly key?: Floats;
  readonly options?: Omit<ForwardOptions, "location"> & {
    readonly causal?: boolean;
    readonly keyLengths?: number[];
    readonly queryLengths?: number[];
    readonly cuSeqLensQuery?: number[];
    readonly cuSeqLensKey?: number[];
    readonly headGain?: number[];
  };
}

export function referenceCall({ layer, x, key = x, options = {} }: Given): InsideCall {
  const [batchSize, queryLength] = x.shape as [number, number, number];
  const keyLength = key.shape[1]!;
  const { causal = false, queryLengths, keyLengths, cuSeqLensQuery, cuSeqLensKey, headGain } = options;
  const count = cuSeqLensQuery ? cuSeqLensQuery.length - 1 : batchSize;
  const sequences = Array.from({ length: count }, (_, n) => {
    const queries = [cuSeqLensQuery?.[n] ?? 0, cuSeqLensQuery?.[n + 1] ?? queryLength] as const;
    const keys = [cuSeqLensKey?.[n] ?? 0, cuSeqLensKey?.[n + 1] ?? keyLength] as const;
    const aligned = (keyLengths?.[n] ?? keys[1] - keys[0]) - (queryLengths?.[n] ?? queries[1] - queries[0]);
    return { batch: cuSeqLensQuery ? 0 : n, queries, keys, offset: causal ? aligned : 0 };
  });
  const visible = (n: number, i: number, j: number) =>
    i < (queryLengths?.[n] ?? Infinity) &&
    j < (keyLengths?.[n] ?? Infinity) &&
    (!causal || j <= i + sequences[n]!.offset);
  return {
    layer,
    batchSize,
    queryLength,
    keyLength,
    x: x.data,
    key: key.data,
    sequences,
    visible,
    ...(headGain && { headGain }),
  };
}

/** Calls of every kind without a cache. */
export const CALLS: readonly [string, Given][] = [
  ["grouped heads", { layer: PLAIN, x: randomTensor(20, [2, 5, 12]) }],
  ["many rows", { layer: PLAIN, x: randomTensor(21, [1, 70, 12]), options: { causal: true } }],
  ["a norm and rotary embedding", { layer: TURNED, x: randomTensor(22, [2, 5, 12]), options: { causal: true } }],
  ["a key context", { layer: PLAIN, x: randomTensor(23, [2, 5, 12]), key: randomTensor(24, [2, 7, 12]) }],
  ["padding", { layer: PLAIN, x: randomTensor(25, [2, 5, 12]), options: { queryLengths: [5, 3], keyLengths: [5, 3] } }],
  ["gains of heads", { layer: PLAIN, x: randomTensor(26, [2, 5, 12]), options: { headGain: [1, 0.5, -2, 0] } }],
  ["a ragged batch", { layer: TURNED, x: randomTensor(27, [1, 8, 12]), options: { cuSeqLensQuery: [0, 3, 8], cuSeqLensKey: [0, 3, 8] } }],
  ["no output projection", { layer: BARE, x: randomTensor(28, [2, 5, 12]) }],
]; // oxfmt-ignore

/**
 * The largest difference, as a share of the largest number: sums of at most 100 products in float32, after each other in
 * projection, scores, weights and output.
 */
const SHARE = 5e-6;

/** The expected numbers of a grid, with that tolerance. */
export function expected(data: Float64Array) {
  const largest = data.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
  return { values: data, tolerance: data.map(() => SHARE * largest) };
}
