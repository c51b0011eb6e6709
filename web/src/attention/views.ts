import { OptionError } from "../base/errors.js";
import type { Asked } from "../read/asked.js";
import type { LocationChoice } from "../read/location.js";
import { namesOf, type NumberList, type OptionReader } from "../read/options.js";
import type { GpuResult } from "../tensor/gpuTensor.js";
import type { TypedTensor } from "../tensor/tensor.js";
import type { ResultTensor } from "./attentionResult.js";
import type { AttentionShape } from "./attentionShape.js";
import { checkIndices, readIndices, RETURNS_NAMES, type Returns, type Slice } from "./returns.js";

/** A selection of key heads and key rows, by index. An absent list means all. */
export interface KeySlice {
  readonly heads?: NumberList | undefined;
  /** Rows of keys. `queries` is another name for it. */
  readonly keys?: NumberList | undefined;
  readonly queries?: NumberList | undefined;
}

/**
 * What `cache.attend` and `cache.step` return. By default only `output` is computed. `query`, `key`, `value` and
 * `headOutputs` are float32, and show the effects of `patch`.
 */
export interface AttendReturns extends Returns {
  /** Queries as attention sees them, after norm and rotary embedding: `[B, heads, queries, headDim]`. Default false. */
  readonly query?: boolean | Slice | undefined;
  /** Keys as attention sees them; all keys of the cache if there is one: `[B, kvHeads, keys, headDim]`. Default false. */
  readonly key?: boolean | KeySlice | undefined;
  /** Values; all values of the cache if there is one: `[B, kvHeads, keys, valueDim]`. Default false. */
  readonly value?: boolean | KeySlice | undefined;
  /** The result of each head, before an output projection: `[B, heads, queries, valueDim]`. Default false. */
  readonly headOutputs?: boolean | Slice | undefined;
}

/** What can be seen inside of attention over a cache. A layer shows more. */
export const ATTEND_VIEWS = ["query", "key", "value", "headOutputs"] as const;
export type AttendView = (typeof ATTEND_VIEWS)[number];

/** A choice of heads and rows of a tensor [B, heads, rows, width]; undefined means all. */
export interface RowChoice {
  readonly heads: Int32Array | undefined;
  readonly rows: Int32Array | undefined;
}

/** The views that a call asked for. */
export type Views<Name extends string = AttendView> = { readonly [Each in Name]?: RowChoice };

/** The types of views, if `returns` is R and results lie at `location` L. */
export type ViewsAt<L extends LocationChoice, R, Name extends string = AttendView> = Asked<
  R,
  { readonly [Each in Name]?: L extends "gpu" ? GpuResult<"float32"> : TypedTensor<"float32"> }
>;

/** Views as an engine gives them. */
export type PlacedViews<Name extends string = AttendView> = { readonly [Each in Name]?: ResultTensor<"float32"> };

export const ATTEND_RETURNS = [
  ...RETURNS_NAMES,
  ...namesOf<Omit<AttendReturns, keyof Returns>>({ query: true, key: true, value: true, headOutputs: true }),
];

/** The names of the list of rows. */
const SLICE = ["heads", "queries"];
const KEY_SLICE = ["heads", "keys", "queries"];

/** The heads, rows and widths of what lies inside of a call. */
export type ViewExtents = Omit<AttentionShape, "batchSize" | "keyLength">;

/** Whether a tensor has a row for each key, and the heads of keys. */
export function isOfKeys(name: string): boolean {
  return name === "key" || name === "value";
}

/** Reads the views `names` among the entries of `returns`. `numKeys` is known if the call has no cache. */
export function readViews<Name extends string>(
  returns: OptionReader | undefined,
  names: readonly Name[],
  extents: ViewExtents,
  numKeys: number | undefined,
): Views<Name> {
  const views: { [Each in Name]?: RowChoice } = {};
  for (const name of returns ? names : []) {
    const isFlag = typeof returns!.value(name) === "boolean";
    if (isFlag && !returns!.flag(name, false)) continue;
    const slice = isFlag ? undefined : returns!.object(name, isOfKeys(name) ? KEY_SLICE : SLICE);
    if (isFlag) views[name] = { heads: undefined, rows: undefined };
    else if (slice) views[name] = readRowChoice(slice, name, extents, numKeys);
  }
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
    checkIndices(`${operation}: returns.${name}.keys`, views[name]?.rows, numKeys);
  }
}

/** The shape [B, heads, rows, width] of what is chosen. `ownKeys` are the rows of keys and values. */
export function chosenShape(
  name: string,
  { heads, rows }: RowChoice,
  shape: AttentionShape,
  width = name === "query" || name === "key" ? shape.headDim : shape.valueDim,
  ownKeys = shape.keyLength,
): [number, number, number, number] {
  const ofKeys = isOfKeys(name);
  return [
    shape.batchSize,
    heads?.length ?? (ofKeys ? shape.numKvHeads : shape.numHeads),
    rows?.length ?? (ofKeys ? ownKeys : shape.queryLength),
    width,
  ];
}
