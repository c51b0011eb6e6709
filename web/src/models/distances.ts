import type { FloatTensorLike } from "../tensor/tensor.js";
import { count, refuse } from "./configField.js";
import type { Design } from "./design.js";
import { times } from "./times.js";

/** Distances from here on share a bucket. */
const FARTHEST = 128;

/** How many buckets there are, however many rows the table has: transformers asks no field. */
const BUCKETS = 32;

/** The biases of scores in a text of so many tokens: `[1, numHeads, S, S]`. */
export type DistanceBias = (length: number) => FloatTensorLike;

/** Biases of scores by distance, which all blocks share; undefined: the family has none. */
export function distanceBiasOf({ family, json, parts, config, named }: Design): DistanceBias | undefined {
  const { distances } = family.attention;
  if (!distances) return undefined;
  const { name, absent } = distances.rows;
  const rows = count(name, absent)(json);
  if (rows < BUCKETS) throw refuse(json, name, `be at least ${BUCKETS}, because distances have ${BUCKETS} buckets`);
  const { numHeads } = config;
  const table = parts.table(named(distances.name), [rows, numHeads]);
  return (length) => {
    const { data: biases } = table.rows({
      data: Int32Array.from(times(2 * length - 1, (n) => bucketOf(n - (length - 1)))),
      shape: [2 * length - 1],
    });
    const data = new Float32Array(numHeads * length * length);
    for (let head = 0, at = 0; head < numHeads; head++)
      for (let query = 0; query < length; query++)
        for (let key = 0; key < length; key++, at++) data[at] = biases[(key - query + length - 1) * numHeads + head]!;
    return { data, shape: [1, numHeads, length, length], dtype: "float32" };
  };
}

/**
 * The bucket of a distance key − query (Raffel et al. 2020, arXiv:1910.10683, in both directions): half of the buckets are for
 * later keys. In each half the first half is of one distance each, and the others grow by the logarithm.
 */
function bucketOf(distance: number): number {
  const half = BUCKETS / 2;
  const exact = half / 2;
  const far = Math.abs(distance);
  const ofLog = () => exact + Math.floor((Math.log(far / exact) / Math.log(FARTHEST / exact)) * (half - exact));
  return (distance > 0 ? half : 0) + (far < exact ? far : Math.min(ofLog(), half - 1));
}
