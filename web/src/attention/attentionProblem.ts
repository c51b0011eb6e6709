import type { CallArguments } from "../call/callArguments.js";
import { refuseGpu } from "../call/location.js";
import { namesOf, type NumberList, type OptionReader } from "../call/options.js";
import { outputForm, type OutputForm } from "../call/outputForm.js";
import { ShapeError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
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
import { FLOATS, type CheckedFloats, type FloatTensor } from "../tensor/tensor.js";
import {
  checkKeys,
  readSettings,
  SETTINGS_NAMES,
  type AttentionSettings,
  type AttentionSettingsOptions,
} from "./attentionSettings.js";
import type { AttentionShape } from "./attentionShape.js";
import { readRagged, type Ragged } from "./ragged.js";
import { readReturns, type Returns, type Wanted } from "./returns.js";

/** Options of `scaledDotProductAttention`. */
export interface AttentionOptions extends AttentionSettingsOptions {
  /** Memory order of query, key, value and output. Default `"BHSD"`. */
  readonly layout?: Layout;
  /** Number of query heads; needed for `"BSE"` and `"BES"` of rank 3, otherwise read from the shape. */
  readonly numHeads?: number;
  /** Number of key and value heads; it divides numHeads. Default: numHeads, or what the shape says. */
  readonly numKvHeads?: number;
  /**
   * Ragged batch: sequence n owns the query rows from entry n up to entry n + 1. Tensors are `[1, totalTokens, …]` in
   * layout BSHD or BSE; positions restart at 0 in every sequence, and nothing is visible across sequences. Masks, bias,
   * probs, scores and topK indices refer to the packed rows. Comes with cuSeqLensKey.
   */
  readonly cuSeqLensQuery?: NumberList;
  /** The same for key and value rows. */
  readonly cuSeqLensKey?: NumberList;
  readonly returns?: Returns;
  /** Where results are put. `"gpu"` needs the WebGPU backend. Default `"cpu"`. */
  readonly location?: "cpu" | "gpu";
  /** A tensor of the output's shape to write the output to; it is then `result.output`. */
  readonly into?: FloatTensor;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal;
}

/** A call of scaledDotProductAttention that passed every check. */
export interface AttentionProblem {
  readonly operation: string;
  readonly layout: Layout;
  readonly shape: AttentionShape;
  readonly query: CheckedFloats;
  readonly key: CheckedFloats;
  readonly value: CheckedFloats;
  readonly settings: AttentionSettings;
  readonly ragged: Ragged | undefined;
  readonly wanted: Wanted;
  readonly output: OutputForm;
  readonly location: "cpu" | "gpu";
  readonly signal: AbortSignal | undefined;
  /** Brings the shape of a result [B, H, …] to the rank of the inputs. */
  readonly keepRank: (shape: readonly number[]) => number[];
}

export const OPTION_NAMES = [
  ...SETTINGS_NAMES,
  ...namesOf<Omit<AttentionOptions, keyof AttentionSettingsOptions>>({
    layout: true,
    numHeads: true,
    numKvHeads: true,
    cuSeqLensQuery: true,
    cuSeqLensKey: true,
    returns: true,
    location: true,
    into: true,
    signal: true,
  }),
];

/** Reads and checks a whole call before anything is allocated. */
export function attentionProblem(
  call: CallArguments,
  query: unknown,
  key: unknown,
  value: unknown,
  options: OptionReader,
): AttentionProblem {
  const q = call.tensor("query", query, FLOATS);
  const k = call.tensor("key", key, FLOATS);
  const v = call.tensor("value", value, FLOATS);
  const layout = options.oneOf("layout", LAYOUTS, "BHSD");
  const shape = readShape(options, layout, q, k, v);
  const ragged = readRagged(options, layout, shape);
  if (!call.placement.onGpu) refuseGpu(options);
  const rank = q.shape.length;
  const settings = readSettings(options, shape, ragged ? ragged.query.length - 1 : shape.batchSize);
  checkKeys(call.operation, settings, shape);
  return {
    operation: call.operation,
    layout,
    shape,
    query: q,
    key: k,
    value: v,
    settings,
    ragged,
    wanted: readReturns(options, shape),
    output: outputForm(options, outputShape(layout, rank, shape), q),
    location: options.oneOf("location", ["cpu", "gpu"], "cpu"),
    signal: options.signal(),
    keepRank: (full) => keepRank(layout, rank, full),
  };
}

function outputShape(layout: Layout, rank: number, shape: AttentionShape): number[] {
  const { batchSize, numHeads, queryLength, valueDim } = shape;
  return shapeOf(layout, rank, { batchSize, numHeads, length: queryLength, headDim: valueDim });
}

function readShape(
  options: OptionReader,
  layout: Layout,
  query: CheckedFloats,
  key: CheckedFloats,
  value: CheckedFloats,
): AttentionShape {
  const { operation } = options;
  const numHeads = options.integer("numHeads", { min: 1 });
  const numKvHeads = options.integer("numKvHeads", { min: 1 });
  const packed = layout === "BSE" || layout === "BES" ? (numKvHeads ?? numHeads) : numKvHeads;
  const q = headsShape(operation, "query", query.shape, layout, numHeads, "numHeads");
  for (const [name, { shape }] of Object.entries({ key, value }))
    if (shape.length !== query.shape.length)
      throw new ShapeError(
        `${operation}: ${name} must have the rank of query, got shapes ${describe(shape)} and ${describe(query.shape)}`,
      );
  const k = headsShape(operation, "key", key.shape, layout, packed, "numKvHeads");
  const v = headsShape(operation, "value", value.shape, layout, packed, "numKvHeads");
  checkFit(operation, layout, query.shape.length, q, k, v);
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

function checkFit(operation: string, layout: Layout, rank: number, q: HeadsShape, k: HeadsShape, v: HeadsShape): void {
  const packed = packsHeads(layout, rank);
  const axis = (name: string, extent: keyof HeadsShape) => axisName(name, layout, rank, extent);
  const equal = (extent: keyof HeadsShape, a: string, x: HeadsShape, b: string, y: HeadsShape) => {
    if (x[extent] !== y[extent])
      throw new ShapeError(
        `${operation}: ${axis(a, extent)} (${extent}) must equal ${axis(b, extent)}, got ${x[extent]} and ${y[extent]}`,
        { hint: packed ? "Heads are packed: width = heads · headDim. Is numKvHeads right?" : undefined },
      );
  };
  equal("batchSize", "key", k, "query", q);
  equal("batchSize", "value", v, "key", k);
  if (k.numHeads < 1)
    throw new ShapeError(`${operation}: ${axis("key", "numHeads")} (numKvHeads) must be at least 1, got 0`);
  if (q.numHeads % k.numHeads !== 0)
    throw new ShapeError(
      packed
        ? `${operation}: numKvHeads must divide numHeads, got ${k.numHeads} and ${q.numHeads}`
        : `${operation}: ${axis("key", "numHeads")} (numKvHeads) must divide ${axis("query", "numHeads")} (numHeads), ` +
            `got ${k.numHeads} and ${q.numHeads}`,
    );
  equal("numHeads", "value", v, "key", k);
  equal("length", "value", v, "key", k);
  equal("headDim", "key", k, "query", q);
}
