import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import { CallArguments } from "../read/callArguments.js";
import { argument, namesOf, readOptions, type OptionReader } from "../read/options.js";
import { number, oneOf, otherwise } from "../read/settingKinds.js";
import { namesIn, readTable, type TableOf } from "../read/settingTable.js";
import type { Tensor, TypedTensor } from "../tensor/tensor.js";
import { zeros } from "../tensor/zeros.js";
import { readGivenPositions, type GivenPositions } from "./tokenPositions.js";

/** Options of `sinusoidalPositions`. */
export interface SinusoidalOptions {
  /**
   * The order of the features. `"interleaved"`, the default: sine and cosine alternate (Vaswani et al. 2017).
   * `"halves"`: first all sines, then all cosines, as in tensor2tensor; the wavelengths form a geometric series from 2π
   * to 2π·base.
   */
  readonly split?: "interleaved" | "halves" | undefined;
  /** Base of the wavelengths. Default 10000. */
  readonly base?: number | undefined;
}

/** Options of `relativePositionBias`. */
export interface RelativePositionOptions {
  /** Number of queries. Not beside `queryPositions`. */
  readonly queryLength?: number | undefined;
  /** Number of keys. Not beside `keyPositions`. */
  readonly keyLength?: number | undefined;
  /** Position of query 0. Default 0. Not beside `queryPositions`. */
  readonly queryOffset?: number | undefined;
  /** Positions of the queries, as `positions` of other calls: `[Sq]`, or `[B, Sq]`. */
  readonly queryPositions?: GivenPositions | undefined;
  /** Positions of the keys: `[Skv]`, or `[B, Skv]`. */
  readonly keyPositions?: GivenPositions | undefined;
  /** true, the default: half of the buckets is for keys after the query (T5's encoder). false: T5's decoder. */
  readonly bidirectional?: boolean | undefined;
  /** All distances from this one on share a bucket. Default 128. */
  readonly maxDistance?: number | undefined;
}

/** A row for each option of sinusoidal positions. */
export const SINUSOIDAL = {
  split: /* @__PURE__ */ oneOf(["interleaved", "halves"]),
  base: /* @__PURE__ */ otherwise(/* @__PURE__ */ number({ above: 0 }), 10000),
} satisfies TableOf<SinusoidalOptions>;

const RELATIVE_NAMES = namesOf<RelativePositionOptions>({
  queryLength: true,
  keyLength: true,
  queryOffset: true,
  queryPositions: true,
  keyPositions: true,
  bidirectional: true,
  maxDistance: true,
});

/** More heads than any layer has. Computing their slopes takes milliseconds. */
const MOST_HEADS = 2 ** 20;

/**
 * One slope for each head, for the option `alibiSlopes` (Press et al. 2022). If the number of heads n is a power of
 * two, head h has the slope 2^(−8(h+1)/n). Otherwise the slopes are those for the next lower power of two, followed by
 * every second slope for the next higher one.
 *
 * @throws OptionError if numHeads is not an integer from 1 to 2^20.
 */
export function alibiSlopes(numHeads: number): Float32Array {
  const heads = count("alibiSlopes", "numHeads", numHeads, { min: 1, max: MOST_HEADS });
  const power = 2 ** Math.floor(Math.log2(heads));
  return Float32Array.from({ length: heads }, (_, h) =>
    h < power ? 2 ** ((-8 * (h + 1)) / power) : 2 ** ((-4 * (2 * (h - power) + 1)) / power),
  );
}

/**
 * Sinusoidal positions: a table `[length, dim]` to add to embeddings (Vaswani et al. 2017). If `dim` is odd, the last
 * feature is a sine, or zero with `"halves"`.
 *
 * @throws OptionError if an argument or option is not allowed; OutOfMemoryError.
 */
export function sinusoidalPositions(
  length: number,
  dim: number,
  options: SinusoidalOptions = {},
): TypedTensor<"float32"> {
  const operation = "sinusoidalPositions";
  const shape = [count(operation, "length", length, { min: 0 }), count(operation, "dim", dim, { min: 1 })];
  const reader = readOptions(new CallArguments(operation), options, namesIn(SINUSOIDAL));
  const { split, base } = readTable(reader, SINUSOIDAL);
  const halves = split === "halves";

  const table = zeros(operation, "table", shape);
  const { data } = table;
  if (data.length === 0) return table;
  const half = Math.floor(dim / 2);
  const steps = halves ? Math.max(half - 1, 1) : dim / 2;
  for (let m = 0; m < (halves ? half : dim - half); ++m) {
    const frequency = base ** (-m / steps);
    const [sine, cosine] = halves ? [m, m + half] : [2 * m, 2 * m + 1];
    for (let s = 0; s < length; ++s) {
      data[s * dim + sine] = Math.sin(s * frequency);
      if (cosine < dim) data[s * dim + cosine] = Math.cos(s * frequency);
    }
  }
  return table;
}

/**
 * T5's relative-position bias `[numHeads, Sq, Skv]`, for the option `bias` (Raffel et al. 2020). With positions `[B, S]`
 * it is `[B, numHeads, Sq, Skv]`. The distance from the query's position to the key's selects a row of the table, a
 * bucket. Half of the buckets of a direction are for one short distance each; the others grow logarithmically. T5 adds
 * the bias to unscaled scores, so call attention with `scale: 1`.
 *
 * @param table - Learned weights `[buckets, numHeads]`.
 * @throws ShapeError or OptionError if the table or an option is not allowed; OutOfMemoryError.
 */
export function relativePositionBias(
  table: Tensor<"float32">,
  options: RelativePositionOptions,
): TypedTensor<"float32"> {
  const operation = "relativePositionBias";
  const call = new CallArguments(operation);
  const { data: weights, shape } = call.tensor("table", table, ["float32"]);
  if (shape.length !== 2 || shape[1] === 0)
    throw new ShapeError(`${operation}: table.shape must be [buckets, numHeads], got ${describe(shape)}`);
  const reader = readOptions(call, options, RELATIVE_NAMES);
  const [buckets, numHeads] = shape as [number, number];
  const query = readRow(reader, "query");
  const key = readRow(reader, "key");
  const bucketOf = relativeBuckets(reader, buckets);
  const batchSize = query.batchSize ?? key.batchSize;
  if (batchSize !== (key.batchSize ?? batchSize))
    throw new ShapeError(
      `${operation}: queryPositions and keyPositions must have the same batches, got ${batchSize} and ${key.batchSize}`,
    );

  const lengths = [numHeads, query.length, key.length];
  const bias = zeros(operation, "bias", batchSize === undefined ? lengths : [batchSize, ...lengths]);
  const { data } = bias;
  if (data.length === 0) return bias;
  const [queries, keys] = [extremesOf(query), extremesOf(key)];
  const bucket = tabulated(bucketOf, keys.least - queries.most, keys.most - queries.least);
  const rows = new Int32Array(query.length * key.length); // of the table, the same for every head
  for (let b = 0, k = 0; b < (batchSize ?? 1); ++b) {
    for (let i = 0, n = 0; i < query.length; ++i)
      for (let j = 0; j < key.length; ++j) rows[n++] = bucket(key.at(b, j) - query.at(b, i));
    for (let h = 0; h < numHeads; ++h) for (const row of rows) data[k++] = weights[row * numHeads + h]!;
  }
  return bias;
}

/** The positions of one side: given ones, or indices from an offset on. */
interface PositionRow {
  readonly batchSize: number | undefined;
  readonly length: number;
  readonly at: (b: number, index: number) => number;
}

function readRow(reader: OptionReader, side: "query" | "key"): PositionRow {
  const given = readGivenPositions(reader, `${side}Positions`);
  if (!given) {
    const length = reader.requiredInteger(`${side}Length`, { min: 0 });
    const offset = reader.integer(`${side}Offset`) ?? 0; // keys have none
    return { batchSize: undefined, length, at: (_, index) => index + offset };
  }
  const { data, batchSize, length } = given;
  for (const name of [`${side}Length`, `${side}Offset`])
    if (reader.has(name)) throw reader.refuse(name, `be absent beside ${side}Positions`);
  return { batchSize, length, at: (b, index) => data[batchSize === undefined ? index : b * length + index]! };
}

function extremesOf({ batchSize = 1, length, at }: PositionRow): { readonly least: number; readonly most: number } {
  let [least, most] = [Infinity, -Infinity];
  for (let n = 0; n < batchSize * length; ++n) {
    const position = at(Math.floor(n / length), n % length);
    [least, most] = [Math.min(least, position), Math.max(most, position)];
  }
  return { least, most };
}

/** A function of integers from a table, unless that would be too long. */
function tabulated(of: (n: number) => number, least: number, most: number): (n: number) => number {
  if (most - least >= LONGEST_TABLE) return of;
  const table = Int32Array.from({ length: most - least + 1 }, (_, n) => of(least + n));
  return (n) => table[n - least]!;
}

const LONGEST_TABLE = 2 ** 22;

/**
 * Returns the bucket of a distance (key position − query position). It computes in float32 and in the published order,
 * because rounding moves the borders of buckets.
 */
function relativeBuckets(reader: OptionReader, buckets: number): (distance: number) => number {
  const bidirectional = reader.flag("bidirectional", true);
  const fewest = bidirectional ? 4 : 2;
  if (buckets < fewest || (bidirectional && buckets % 2 !== 0))
    throw new ShapeError(
      `${reader.operation}: table.shape[0] must be at least ${fewest}${bidirectional ? " and even" : ""}, got ${buckets}`,
    );
  const perDirection = bidirectional ? buckets / 2 : buckets;
  const exact = Math.floor(perDirection / 2);
  const maxDistance = reader.integer("maxDistance") ?? 128;
  if (maxDistance <= exact) throw reader.refuse("maxDistance", `exceed the ${exact} exact buckets of a direction`);
  const span = Math.fround(Math.log(maxDistance / exact));
  const logarithmic = (magnitude: number) => {
    const share = Math.fround(Math.fround(Math.log(Math.fround(magnitude / exact))) / span);
    return Math.min(exact + Math.floor(Math.fround(share * (perDirection - exact))), perDirection - 1);
  };
  return (distance) => {
    const magnitude = bidirectional ? Math.abs(distance) : Math.max(-distance, 0);
    const bucket = magnitude < exact ? magnitude : logarithmic(magnitude);
    return bidirectional && distance > 0 ? bucket + perDirection : bucket;
  };
}

function count(operation: string, name: string, value: unknown, rule: { min: number; max?: number }): number {
  return argument(new CallArguments(operation), name, value).requiredInteger(name, rule);
}
