import { ShapeError } from "../base/errors.js";
import type { GivenPositions, TokenPositions } from "../position/tokenPositions.js";
import type { CallArguments } from "../read/callArguments.js";
import type { NumberList, OptionReader } from "../read/options.js";
import { integer, integers, ofCall, oneOf, otherwise, signal } from "../read/settingKinds.js";
import { readRow, type TableOf } from "../read/settingTable.js";
import { axisName, headsShape, LAYOUTS, type HeadsShape, type Layout } from "../tensor/layout.js";
import { FLOATS, type PlacedFloats } from "../tensor/tensor.js";
import { checkKvHeads, type CacheForm } from "./cacheProblem.js";
import { gainsTokens } from "./heldTokens.js";
import { ownOf } from "./ownPositions.js";
import { readCachePositions } from "./readCachePositions.js";

/** Options of `KvCache.append`. */
export interface AppendOptions {
  /** Memory order of key and value. Default `"BHSD"`. */
  readonly layout?: Layout | undefined;
  /** The cache knows it. If given, it must be the number of the cache. */
  readonly numKvHeads?: number | undefined;
  /** `[B]`: how many leading tokens of each batch to append. Default: all. */
  readonly lengths?: NumberList | undefined;
  /**
   * Where the tokens stand, for the rotary embedding of the cache and for `alibiSlopes` of its calls: whole numbers, a
   * list `[S]`, or a tensor `[S]` or `[B, S]`; with sections also `[3, B, S]`. Default: their indices; after
   * `remove(0, n)`, `keep(0, …)` or a slice a cache that is rotary, or was given positions, adds the number of tokens that were
   * taken away. Masks, windows and formulas go on by index. `keep` and `remove` leave tokens where they stand in a cache
   * that has been given positions.
   */
  readonly positions?: GivenPositions | undefined;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** A call of append that has passed every check. */
export interface AppendProblem {
  readonly operation: string;
  readonly layout: Layout;
  readonly numTokens: number;
  readonly key: PlacedFloats;
  readonly value: PlacedFloats;
  readonly lengths: Int32Array | undefined;
  /** For the rotary embedding of the cache: `[planes, B, S]`. */
  readonly positions: TokenPositions | undefined;
  /** For ALiBi: `[B, S]`. */
  readonly own: Int32Array | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A row for each option. */
export const APPEND = {
  layout: oneOf(LAYOUTS),
  numKvHeads: integer({}),
  lengths: integers({ length: "batchSize", most: "numTokens" }),
  positions: ofCall(),
  signal: signal(),
} satisfies TableOf<AppendOptions, Readonly<Record<"batchSize" | "numTokens", number>>>;

/** The memory order of key and value in a call of step. */
export const KV_LAYOUT = otherwise(oneOf(LAYOUTS), undefined);

/** Reads a call of append and does all checks. */
export function appendProblem(
  call: CallArguments,
  form: CacheForm,
  givenKey: unknown,
  givenValue: unknown,
  options: OptionReader,
): AppendProblem {
  const { operation } = call;
  checkKvHeads(options, form);
  const layout = readRow(options, "kvLayout", KV_LAYOUT) ?? readRow(options, "layout", APPEND.layout);
  const key = call.placed("key", givenKey, FLOATS);
  const value = call.placed("value", givenValue, FLOATS);
  const lengthOf = (name: string, { shape }: PlacedFloats, headDim: number) => {
    const heads = headsShape(operation, name, shape, layout, form.numKvHeads, "numKvHeads");
    const fits = (extent: keyof HeadsShape, cached: string, expected: number) => {
      if (heads[extent] === expected) return;
      const axis = axisName(name, layout, shape.length, extent);
      throw new ShapeError(
        `${operation}: ${axis} (${extent}) must equal the cache's ${cached}, got ${heads[extent]} and ${expected}`,
      );
    };
    fits("batchSize", "batchSize", form.batchSize);
    fits("headDim", name === "key" ? "headDim" : "valueDim", headDim);
    return heads.length;
  };
  const numTokens = lengthOf("key", key, form.headDim);
  const numValues = lengthOf("value", value, form.valueDim);
  if (numValues !== numTokens)
    throw new ShapeError(
      `${operation}: ${axisName("value", layout, value.shape.length, "length")} (length) must equal ` +
        `${axisName("key", layout, key.shape.length, "length")}, got ${numValues} and ${numTokens}`,
    );
  const lengths = readRow(options, "lengths", APPEND.lengths, { batchSize: form.batchSize, numTokens });
  const read = readCachePositions(options, form, numTokens);
  const given = gainsTokens(numTokens, lengths) ? read : undefined; // where no token comes, none stands anywhere
  return {
    operation,
    layout,
    numTokens,
    key,
    value,
    lengths,
    positions: form.rotary ? given : undefined,
    own: ownOf(given),
    signal: options.signal(),
  };
}
