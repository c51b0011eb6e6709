import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { isArray } from "../base/typedArray.js";
import { floats, type Floats } from "../tensor/plainTensor.js";
import { integers } from "./options.js";

/** Where the queries of an attention map stand among its keys. */
export interface PositionOptions {
  /**
   * Query i stands at the place of key i + queryOffset: one integer from −Sq to Skv, or one for each sequence of the
   * batch. Default: Skv − Sq, so that the last query stands at the last key. It is 0 if there are as many queries as
   * keys.
   */
  readonly queryOffset?: number | readonly number[] | undefined;
}

export const POSITION_DEFAULTS: { readonly queryOffset: PositionOptions["queryOffset"] | undefined } = {
  queryOffset: undefined,
};

/** Checked attention weights of one layer. Map n is that of head n % heads in sequence ⌊n / heads⌋. */
export interface AttentionMaps {
  readonly data: Float32Array;
  readonly batch: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  /** The axes before queries and keys: `[B, H]`, `[H]` or `[]`. */
  readonly outer: readonly number[];
  /** The position of query 0 in each sequence. */
  readonly offsets: ArrayLike<number>;
}

/** One row of a map. */
export interface Row {
  /** The weight of each key. */
  readonly weights: Float32Array;
  /** The index of the key at which the query stands. */
  readonly position: number;
  /** The index of the sequence. */
  readonly sequence: number;
}

/** Checks the weights of one layer. */
export function attentionMaps(
  operation: string,
  argument: string,
  probs: Floats,
  queryOffset?: PositionOptions["queryOffset"],
): AttentionMaps {
  const { data, shape } = floats(operation, argument, probs);
  if (shape.length < 2 || shape.length > 4)
    throw new ShapeError(
      `${operation}: ${argument}.shape must be [B, H, Sq, Skv], [H, Sq, Skv] or [Sq, Skv], got ${describe(shape)}`,
    );
  const outer = shape.slice(0, -2);
  const [batch, heads, queries, keys] = [1, 1, ...shape].slice(-4) as [number, number, number, number];
  const given = queryOffset ?? keys - queries;
  const list = typeof given === "number" ? Array<number>(batch).fill(given) : given;
  const offsets = integers(operation, "queryOffset", list, -queries, keys, "an integer or a list");
  if (offsets.length !== batch)
    throw new ShapeError(
      `${operation}: queryOffset must have one number for each of ${batch} sequences, got ${offsets.length}`,
    );
  return { data, batch, heads, queries, keys, outer, offsets };
}

/** Checks the weights of all layers. */
export function layersOfMaps(
  operation: string,
  probsPerLayer: readonly Floats[],
  queryOffset?: PositionOptions["queryOffset"],
): readonly AttentionMaps[] {
  return guarded(operation, "probsPerLayer", () => {
    const layers = isArray(probsPerLayer) ? probsPerLayer.length : 0;
    if (layers === 0)
      throw new OptionError(
        `${operation}: probsPerLayer must be a list with a tensor for each layer, got ${describe(probsPerLayer)}`,
      );
    const maps: AttentionMaps[] = [];
    for (let n = 0; n < layers; n++)
      maps.push(attentionMaps(operation, `probsPerLayer[${n}]`, probsPerLayer[n]!, queryOffset));
    return maps;
  });
}

/** The rows of map n that see a key: not all of their weights are 0. A row with NaN is one of them. */
export function* rowsOf({ data, heads, queries, keys, offsets }: AttentionMaps, n: number): Generator<Row> {
  const sequence = Math.floor(n / heads);
  for (let query = 0; query < queries; query++) {
    const start = (n * queries + query) * keys;
    const weights = data.subarray(start, start + keys);
    if (weights.some((weight) => weight !== 0)) yield { weights, position: query + offsets[sequence]!, sequence };
  }
}

/** A tensor with a number for each map. */
export function perMap({ batch, heads, outer }: AttentionMaps, numberOf: (n: number) => number): Floats {
  return { data: Float32Array.from({ length: batch * heads }, (_, n) => numberOf(n)), shape: outer };
}
