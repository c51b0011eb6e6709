import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import { assertNumber, type Floats } from "../tensor/plainTensor.js";
import { layersOfMaps, type AttentionMaps } from "./attentionMaps.js";
import { assertOneOf } from "./options.js";

/** How the heads of a layer become one map. */
export type HeadFusion = "mean" | "max" | "min";

/** How attention becomes a mixing of tokens. */
export interface MixingOptions {
  /** The share of the residual connection, r. From 0 to below 1. Default: 0.5. */
  readonly residual?: number | undefined;
  /** The mean, the largest or the smallest weight over the heads. Default: `"mean"`. */
  readonly headFusion?: HeadFusion | undefined;
}

/** The options, complete. */
export interface Mixing {
  readonly residual: number;
  readonly headFusion: HeadFusion;
}

export const MIXING_DEFAULTS: Mixing = { residual: 0.5, headFusion: "mean" };

/** Checked layers, each of which mixes the same S tokens. */
export interface MixingLayers extends Mixing {
  readonly layers: readonly AttentionMaps[];
  readonly batch: number;
  readonly tokens: number;
  /** The axis of sequences, if there is one: `[B]` or `[]`. */
  readonly outer: readonly number[];
}

/** Checks layers and options. */
export function mixingLayers(
  operation: string,
  probsPerLayer: readonly Floats[],
  { residual, headFusion }: Mixing,
): MixingLayers {
  assertNumber(operation, "residual", residual, "a number from 0 to below 1", (value) => value >= 0 && value < 1);
  assertOneOf(operation, "headFusion", headFusion, ["mean", "max", "min"]);
  const layers = layersOfMaps(operation, probsPerLayer);
  const [first] = layers as [AttentionMaps];
  layers.forEach(({ outer, heads, queries, keys, batch }, n) => {
    const isSame = outer.length === first.outer.length && batch === first.batch && keys === first.keys;
    if (!isSame || queries !== keys || heads === 0)
      throw new ShapeError(
        `${operation}: probsPerLayer[${n}].shape must have heads, S queries and S keys, and the axes B and S of layer 0, ` +
          `got ${describe([...outer, queries, keys])} and ${describe([...first.outer, first.queries, first.keys])}`,
      );
  });
  const { batch, keys, outer } = first;
  return { layers, batch, tokens: keys, outer: outer.slice(0, -1), residual, headFusion };
}

/**
 * How a layer mixes the tokens of a sequence (Abnar & Zuidema 2020, arXiv:2005.00928):
 *
 *     Ã = (1 − r)·A + r·I      with each row divided by its sum
 *
 * and A the heads' maps as one. A row that sees no key keeps its own token; it stays 0 if r is 0.
 *
 * @returns `[S, S]`
 */
export function mixing({ tokens, residual, headFusion }: MixingLayers, maps: AttentionMaps, sequence: number) {
  const mixed = fused(maps, sequence, headFusion);
  for (let i = 0; i < tokens; i++) {
    const row = mixed.subarray(i * tokens, (i + 1) * tokens);
    row.forEach((weight, j) => (row[j] = (1 - residual) * weight + (i === j ? residual : 0)));
    const sum = row.reduce((total, weight) => total + weight, 0);
    if (sum !== 0) row.forEach((weight, j) => (row[j] = weight / sum));
  }
  return mixed;
}

const FUSIONS: Readonly<Record<HeadFusion, (a: number, b: number) => number>> = {
  mean: (a, b) => a + b, // divided by the number of heads below
  max: Math.max,
  min: Math.min,
};

/** The maps of all heads as one. */
function fused({ data, heads, queries, keys }: AttentionMaps, sequence: number, headFusion: HeadFusion): Float64Array {
  const size = queries * keys;
  const start = sequence * heads * size;
  const map = Float64Array.from(data.subarray(start, start + size));
  for (let head = 1; head < heads; head++)
    map.forEach((weight, n) => (map[n] = FUSIONS[headFusion](weight, data[start + head * size + n]!)));
  return headFusion === "mean" ? map.map((sum) => sum / heads) : map;
}
