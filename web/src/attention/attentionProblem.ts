import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import type { GivenPositions } from "../position/tokenPositions.js";
import type { CallArguments } from "../read/callArguments.js";
import { refuseGpu } from "../read/location.js";
import { namesOf, type NumberList, type OptionReader } from "../read/options.js";
import { outputForm, type OutputForm } from "../read/outputForm.js";
import type { Watched, WatchOptions } from "../read/watched.js";
import {
  axisName,
  headsShape,
  keepRank,
  LAYOUTS,
  packsHeads,
  shapeOf,
  type HeadsShape,
  type Layout,
} from "../tensor/layout.js";
import { FLOATS, type FloatTensor, type PlacedFloats } from "../tensor/tensor.js";
import { readAlibiPositions } from "./alibiPositions.js";
import type { AttentionSettingsOptions } from "./attentionOptions.js";
import {
  checkKeys,
  readSettings,
  refuseMovedDiagonal,
  SETTINGS_NAMES,
  type AttentionSettings,
} from "./attentionSettings.js";
import type { AttentionShape } from "./attentionShape.js";
import { callPositions } from "./callPositions.js";
import { readRagged, type Ragged } from "./ragged.js";
import { readWanted, RETURNS_NAMES, wantsOutput, type Returns, type Wanted } from "./returns.js";

/** Options of `scaledDotProductAttention`. */
export interface AttentionOptions extends AttentionSettingsOptions, WatchOptions {
  /** Memory order of query and output, and of key and value if kvLayout is absent. Default `"BHSD"`. */
  readonly layout?: Layout | undefined;
  /**
   * Memory order of key and value. Default `layout`. If it differs, their rank may also differ from the rank of query.
   */
  readonly kvLayout?: Layout | undefined;
  /** Number of query heads. Needed for `"BSE"` and `"BES"` of rank 3; otherwise the shape says it. */
  readonly numHeads?: number | undefined;
  /** Number of key and value heads; it must divide numHeads. Default: numHeads, or what the shape says. */
  readonly numKvHeads?: number | undefined;
  /**
   * Ragged batch: sequence n has the query rows from entry n up to entry n + 1, so the list starts at 0. Tensors are
   * `[1, totalTokens, …]` in layout BSHD or BSE. Positions start at 0 in every sequence, and queries do not see keys of
   * other sequences. Masks, bias, probs, scores and topK indices refer to the packed rows. Needs cuSeqLensKey.
   */
  readonly cuSeqLensQuery?: NumberList | undefined;
  /** The same for key and value rows. Needs cuSeqLensQuery. */
  readonly cuSeqLensKey?: NumberList | undefined;
  /**
   * Where the queries stand for `alibiSlopes`, in place of their indices: whole numbers, a list `[Sq]`, or a tensor `[Sq]`
   * or `[B, Sq]`. The distance is then |positions − keyPositions|. Masks, causal, window and formulas go on by index.
   * Needs alibiSlopes and keyPositions.
   */
  readonly positions?: GivenPositions | undefined;
  /** Where the keys stand, in the same way: `[Skv]` or `[B, Skv]`. Needs positions. */
  readonly keyPositions?: GivenPositions | undefined;
  /** What to return. Default: only `output`. */
  readonly returns?: Returns | undefined;
  /** Where the results are. `"gpu"` needs the WebGPU backend. Default `"cpu"`. */
  readonly location?: "cpu" | "gpu" | undefined;
  /** A tensor of the output's shape, to write the output to. It is then also `result.output`. */
  readonly into?: FloatTensor | undefined;
}

/** A call of scaledDotProductAttention that has passed every check. */
export interface AttentionProblem extends Watched {
  readonly operation: string;
  readonly layout: Layout;
  readonly kvLayout: Layout;
  readonly shape: AttentionShape;
  readonly query: PlacedFloats;
  readonly key: PlacedFloats;
  /** The same object as `key` in a call without values, which gives no output. */
  readonly value: PlacedFloats;
  readonly settings: AttentionSettings;
  readonly ragged: Ragged | undefined;
  readonly wanted: Wanted;
  readonly output: OutputForm;
  readonly location: "cpu" | "gpu";
  /** Gives the shape of a result [B, H, …] the rank of the inputs. */
  readonly keepRank: (shape: readonly number[]) => number[];
}

type ResultOptions = Pick<AttentionOptions, "returns" | "location" | "into" | "signal" | "onProgress">;

/** The options that say what a call computes, and not which results it gives. Its gradient has them too. */
export const CALL_NAMES = [
  ...SETTINGS_NAMES,
  ...namesOf<Omit<AttentionOptions, keyof AttentionSettingsOptions | keyof ResultOptions>>({
    layout: true,
    kvLayout: true,
    numHeads: true,
    numKvHeads: true,
    cuSeqLensQuery: true,
    cuSeqLensKey: true,
    positions: true,
    keyPositions: true,
  }),
];

export const OPTION_NAMES = [
  ...CALL_NAMES,
  ...namesOf<ResultOptions>({ returns: true, location: true, into: true, signal: true, onProgress: true }),
];

/**
 * Reads a call and does all checks, before anything is allocated.
 *
 * @throws ShapeError, OptionError or UnsupportedError.
 */
export function attentionProblem(
  call: CallArguments,
  query: unknown,
  key: unknown,
  value: unknown,
  options: OptionReader,
): AttentionProblem {
  const q = call.placed("query", query, FLOATS);
  const k = call.placed("key", key, FLOATS);
  const returns = options.object("returns", RETURNS_NAMES);
  const v = value === undefined && !wantsOutput(returns) ? k : call.placed("value", value, FLOATS);
  if (!call.placement.onGpu) refuseGpu(options);
  const { layout, kvLayout, shape, ragged, settings } = readCall(call, q, k, v, options);
  const rank = q.shape.length;
  return {
    operation: call.operation,
    layout,
    kvLayout,
    shape,
    query: q,
    key: k,
    value: v,
    settings,
    ragged,
    wanted: readWanted(returns, shape),
    output: outputForm(options, outputShape(layout, rank, shape), q),
    location: options.oneOf("location", ["cpu", "gpu"], "cpu"),
    ...options.watched(),
    keepRank: (full) => keepRank(layout, rank, full),
  };
}

/** What a call computes. */
type Call = Pick<AttentionProblem, "layout" | "kvLayout" | "shape" | "ragged" | "settings">;

/** Reads the options of CALL_NAMES, for queries, keys and values. */
export function readCall(
  call: CallArguments,
  query: PlacedFloats,
  key: PlacedFloats,
  value: PlacedFloats,
  options: OptionReader,
): Call {
  const layout = options.oneOf("layout", LAYOUTS, "BHSD");
  const kvLayout = options.oneOf("kvLayout", LAYOUTS, layout);
  const shape = readShape(options, { layout, kvLayout }, query, key, value);
  const ragged = readRagged(options, layout, shape, kvLayout);
  const read = readSettings(options, shape, ragged ? ragged.query.length - 1 : shape.batchSize);
  const settings = { ...read, ...readAlibiPositions(options, shape, read) };
  if (!ragged) refuseMovedDiagonal(options, settings, shape.queryLength);
  checkKeys(call.operation, settings, shape, callPositions(shape, settings, ragged));
  return { layout, kvLayout, shape, ragged, settings };
}

/** The shape of the output for queries of this rank. */
export function outputShape(layout: Layout, rank: number, shape: AttentionShape): number[] {
  const { batchSize, numHeads, queryLength, valueDim } = shape;
  return shapeOf(layout, rank, { batchSize, numHeads, length: queryLength, headDim: valueDim });
}

/** The extents of a tensor of heads, and what messages need to name it. */
interface Heads extends HeadsShape {
  readonly name: string;
  readonly layout: Layout;
  readonly rank: number;
}

function readShape(
  options: OptionReader,
  { layout, kvLayout }: { readonly layout: Layout; readonly kvLayout: Layout },
  query: PlacedFloats,
  key: PlacedFloats,
  value: PlacedFloats,
): AttentionShape {
  const { operation } = options;
  const numHeads = options.integer("numHeads", { min: 1 });
  const numKvHeads = options.integer("numKvHeads", { min: 1 });
  const read = (name: string, { shape }: PlacedFloats, order: Layout, count: number | undefined, option: string) => {
    const heads = headsShape(operation, name, shape, order, count, option);
    const { batchSize, numHeads: own, length, headDim } = heads;
    return { batchSize, numHeads: own, length, headDim, name, layout: order, rank: shape.length };
  };
  const q = read("query", query, layout, numHeads, "numHeads");
  checkRanks(operation, layout === kvLayout, query, key, value);
  const isPacked = kvLayout === "BSE" || kvLayout === "BES";
  const implied = layout === kvLayout ? undefined : q.numHeads;
  const count = isPacked ? (numKvHeads ?? numHeads ?? implied) : numKvHeads;
  const k = read("key", key, kvLayout, count, "numKvHeads");
  const v = read("value", value, kvLayout, count, "numKvHeads");
  checkFit(operation, q, k, v);
  return {
    batchSize: q.batchSize,
    numHeads: q.numHeads,
    numKvHeads: k.numHeads,
    queryLength: q.length,
    keyLength: k.length,
    headDim: q.headDim,
    valueDim: v.headDim,
  };
}

/** If layout and kvLayout are the same, all three must have one rank. If not, key and value must have one rank. */
function checkRanks(
  operation: string,
  isOneLayout: boolean,
  query: PlacedFloats,
  key: PlacedFloats,
  value: PlacedFloats,
) {
  const equal = (name: string, a: PlacedFloats, other: string, b: PlacedFloats) => {
    if (a.shape.length !== b.shape.length)
      throw new ShapeError(
        `${operation}: ${name} must have the rank of ${other}, got shapes ${describe(a.shape)} and ${describe(b.shape)}`,
      );
  };
  if (isOneLayout) {
    equal("key", key, "query", query);
    equal("value", value, "query", query);
  } else equal("value", value, "key", key);
}

function checkFit(operation: string, q: Heads, k: Heads, v: Heads): void {
  const packed = packsHeads(k.layout, k.rank);
  const axis = ({ name, layout, rank }: Heads, extent: keyof HeadsShape) => axisName(name, layout, rank, extent);
  const equal = (extent: keyof HeadsShape, a: Heads, b: Heads) => {
    if (a[extent] !== b[extent])
      throw new ShapeError(
        `${operation}: ${axis(a, extent)} (${extent}) must equal ${axis(b, extent)}, got ${a[extent]} and ${b[extent]}`,
        { hint: packed ? "Heads are packed: width = heads · headDim. Is numKvHeads right?" : undefined },
      );
  };
  equal("batchSize", k, q);
  equal("batchSize", v, k);
  if (k.numHeads < 1)
    throw new ShapeError(`${operation}: ${axis(k, "numHeads")} (numKvHeads) must be at least 1, got 0`);
  if (q.numHeads % k.numHeads !== 0)
    throw new ShapeError(
      packed
        ? `${operation}: numKvHeads must divide numHeads, got ${k.numHeads} and ${q.numHeads}`
        : `${operation}: ${axis(k, "numHeads")} (numKvHeads) must divide ${axis(q, "numHeads")} (numHeads), ` +
            `got ${k.numHeads} and ${q.numHeads}`,
    );
  equal("numHeads", v, k);
  equal("length", v, k);
  equal("headDim", k, q);
}
