import type { ResultTensor } from "../attention/attentionResult.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import { readIndices, RETURNS_NAMES, type Returns, type Slice } from "../attention/returns.js";
import type { Asked } from "../call/asked.js";
import { namesOf, type NumberList, type OptionReader } from "../call/options.js";
import { OptionError, UnsupportedError } from "../errors/errors.js";
import type { GpuResult } from "../tensor/gpuTensor.js";
import type { TypedTensor } from "../tensor/tensor.js";

/** A selection of key heads and key rows, by index. An absent list means all. */
export interface KeySlice {
  readonly heads?: NumberList;
  /** Rows of keys. `queries` is another name for it. */
  readonly keys?: NumberList;
  readonly queries?: NumberList;
}

/**
 * What `layer.forward` returns. By default only `output` is computed. What is seen inside of the layer has the effects
 * of `patch`.
 */
export interface ForwardReturns extends Returns {
  /** Queries as attention sees them, after norm and rotary embedding: `[B, heads, queries, headDim]`. Default false. */
  readonly query?: boolean | Slice;
  /** Keys as attention sees them, with a cache all that it holds: `[B, kvHeads, keys, headDim]`. Default false. */
  readonly key?: boolean | KeySlice;
  /** Values, with a cache all that it holds: `[B, kvHeads, keys, valueHeadDim]`. Default false. */
  readonly value?: boolean | KeySlice;
  /** The result of each head before the output projection: `[B, heads, queries, valueHeadDim]`. Default false. */
  readonly headOutputs?: boolean | Slice;
  /**
   * The share of each head in the output: its headOutputs times its rows of Wo, `[B, heads, queries, outputDim]`. Those
   * of all heads and the bias of the output projection sum to the output. Needs an output projection. Default false.
   */
  readonly contributions?: boolean | Slice;
}

/** What can be seen inside of a layer. */
export const VIEWS = ["query", "key", "value", "headOutputs", "contributions"] as const;
export type View = (typeof VIEWS)[number];

/** A choice of heads and rows of a tensor [B, heads, rows, width]; undefined means all. */
export interface RowChoice {
  readonly heads: Int32Array | undefined;
  readonly rows: Int32Array | undefined;
}

/** The views that a call asked for. */
export type Views = { readonly [Name in View]?: RowChoice };

/** The types of views, if `returns` is R and results lie at `location` L. */
export type ViewsAt<L extends "cpu" | "gpu", R> = Asked<
  R,
  { readonly [Name in View]?: L extends "gpu" ? GpuResult<"float32"> : TypedTensor<"float32"> }
>;

/** Views as an engine gives them. */
export type PlacedViews = { readonly [Name in View]?: ResultTensor<"float32"> };

export const FORWARD_RETURNS = [
  ...RETURNS_NAMES,
  ...namesOf<Omit<ForwardReturns, keyof Returns>>({
    query: true,
    key: true,
    value: true,
    headOutputs: true,
    contributions: true,
  }),
];

/** The names of the list of rows. */
const SLICE = ["heads", "queries"];
const KEY_SLICE = ["heads", "keys", "queries"];

/** The heads, rows and widths of what lies inside of a layer. */
export type ViewExtents = Omit<AttentionShape, "batchSize" | "keyLength">;

/** Whether a tensor has a row for each key, and the heads of keys. */
export function isOfKeys(name: string): boolean {
  return name === "key" || name === "value";
}

/** Reads the views among the entries of `returns`. `numKeys` is known if the call has no cache. */
export function readViews(
  returns: OptionReader | undefined,
  extents: ViewExtents,
  numKeys: number | undefined,
  hasOutputProjection: boolean,
): Views {
  if (!returns) return {};
  const views: { [Name in View]?: RowChoice } = {};
  for (const name of VIEWS) {
    const isFlag = typeof returns.value(name) === "boolean";
    if (isFlag && !returns.flag(name, false)) continue;
    const slice = isFlag ? undefined : returns.object(name, isOfKeys(name) ? KEY_SLICE : SLICE);
    if (isFlag) views[name] = { heads: undefined, rows: undefined };
    else if (slice) views[name] = readRowChoice(slice, name, extents, numKeys);
  }
  if (views.contributions && !hasOutputProjection)
    throw new UnsupportedError(`${returns.at("contributions")} needs an output projection, this layer has none`, {
      hint: "headOutputs has the share of each head in the output.",
    });
  return views;
}

/** Reads the heads and rows of one tensor. */
export function readRowChoice(
  slice: OptionReader,
  name: string,
  { numHeads, numKvHeads, queryLength }: ViewExtents,
  numKeys: number | undefined,
): RowChoice {
  if (!isOfKeys(name))
    return { heads: readIndices(slice, "heads", numHeads), rows: readIndices(slice, "queries", queryLength) };
  if (slice.has("keys") && slice.has("queries"))
    throw new OptionError(`${slice.at("queries")} must be absent with keys, which names the same rows`);
  const rows = slice.has("keys") ? "keys" : "queries";
  return {
    heads: readIndices(slice, "heads", numKvHeads),
    rows: readIndices(slice, rows, numKeys ?? Infinity),
  };
}

/** Throws if a view asks for keys that a cache does not hold. */
export function checkViewedKeys(operation: string, views: Views, numKeys: number): void {
  for (const name of ["key", "value"] as const) {
    const outside = views[name]?.rows?.find((row) => row >= numKeys);
    if (outside !== undefined)
      throw new OptionError(`${operation}: returns.${name}.keys must hold indices below ${numKeys}, got ${outside}`);
  }
}

/** The shape [B, heads, rows, width] of a view. */
export function viewShape(
  name: View,
  { heads, rows }: RowChoice,
  shape: AttentionShape,
  outputDim: number,
): [number, number, number, number] {
  const ofKeys = isOfKeys(name);
  const width = { query: shape.headDim, key: shape.headDim, contributions: outputDim }[name as string];
  return [
    shape.batchSize,
    heads?.length ?? (ofKeys ? shape.numKvHeads : shape.numHeads),
    rows?.length ?? (ofKeys ? shape.keyLength : shape.queryLength),
    width ?? shape.valueDim,
  ];
}
