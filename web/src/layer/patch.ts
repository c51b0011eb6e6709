import type { AttentionShape } from "../attention/attentionShape.js";
import type { SequencePositions } from "../attention/callPositions.js";
import type { Ragged } from "../attention/ragged.js";
import { namesOf, type NumberList, type OptionReader } from "../call/options.js";
import { OptionError, ShapeError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import { fromHalf } from "../tensor/half.js";
import { FLOATS, type CheckedTensor, type FloatTensorLike } from "../tensor/tensor.js";
import { isOfKeys, readRowChoice, type RowChoice, type ViewExtents } from "./views.js";

/** The new content of the chosen rows. */
export interface PatchRows {
  /** The chosen heads; for key and value key heads. Default all. */
  readonly heads?: NumberList;
  /** The chosen rows. Default all. */
  readonly queries?: NumberList;
  /**
   * `[B, heads, rows, width]` over the chosen heads and rows, broadcast from the right as in NumPy; or `"mean"`. It is a
   * tensor or a nested list, or a typed array whose shape is in `shape`.
   */
  readonly data: FloatTensorLike | Float32Array | "mean";
  /** The shape of `data`, if that is a typed array. */
  readonly shape?: readonly number[];
  /** The dtype of `data`. So a tensor can be given as it is: `patch: { query: tensor }`. */
  readonly dtype?: "float32" | "float16";
}

/** The same for key or value: rows are those of the call's keys. */
export interface PatchKeys extends PatchRows {
  /** The chosen rows of keys. `queries` is another name for it. */
  readonly keys?: NumberList;
}

/**
 * Overwrites what lies inside of a layer, for one call. A patched row is computed exactly as if the data had come about
 * by itself: to patch query, key, value or headOutputs with the call's own data changes no bit.
 *
 * `"mean"` puts the mean of a head's rows, over the batch and all rows without padding, in place of each row. For probs
 * it puts the mean of a row's weights in place of the weight of each key that the row sees. Padding is never
 * overwritten.
 */
export interface Patch {
  /** Queries after norm and rotary embedding, `[B, heads, queries, headDim]`. */
  readonly query?: PatchRows | "mean";
  /**
   * The call's keys after norm and rotary embedding, `[B, kvHeads, keys, headDim]`. With a cache the new data is what
   * the cache stores.
   */
  readonly key?: PatchKeys | "mean";
  /** The call's values, `[B, kvHeads, keys, valueHeadDim]`. With a cache the new data is what the cache stores. */
  readonly value?: PatchKeys | "mean";
  /**
   * Weights, `[B, heads, queries, Skv]`, finite, and 0 at keys that the batch does not have. They are used as they are:
   * they need not sum to 1, and may be at hidden keys, whose values are then read. A key with weight 0 has no effect.
   * probs, topK and entropy show them; lse and scores stay.
   */
  readonly probs?: PatchRows | "mean";
  /** The result of each head, after headGain: `[B, heads, queries, valueHeadDim]`. */
  readonly headOutputs?: PatchRows | "mean";
}

export const PATCHES = ["query", "key", "value", "probs", "headOutputs"] as const;
export type PatchName = (typeof PATCHES)[number];

/** A checked patch. */
export interface RowPatch extends RowChoice {
  /** `[B, heads, rows, width]` over the chosen heads and rows; or the mean. */
  readonly data: Float32Array | "mean";
}

/** The checked option `patch`. */
export type Patches = { readonly [Name in PatchName]?: RowPatch };

const PATCH_NAMES = namesOf<Patch>({ query: true, key: true, value: true, probs: true, headOutputs: true });
const ROW_NAMES = namesOf<PatchRows>({ heads: true, queries: true, data: true, shape: true, dtype: true });
const KEY_NAMES = ["keys", ...ROW_NAMES];

/** A patch whose data has not been brought to its full shape: that may depend on a cache. */
interface GivenPatch extends RowChoice {
  readonly tensor: CheckedTensor<"float32" | "float16"> | "mean";
}

/** The patches of a call as they were given. */
export type GivenPatches = { readonly [Name in PatchName]?: GivenPatch };

/** Reads the option `patch`. `numKeys` is the number of the call's own keys; undefined if it has none. */
export function readPatch(
  options: OptionReader,
  extents: ViewExtents,
  numKeys: number | undefined,
): GivenPatches | undefined {
  const patch = options.object("patch", PATCH_NAMES);
  if (!patch) return undefined;
  const given: { [Name in PatchName]?: GivenPatch } = {};
  for (const name of PATCHES) {
    if (!patch.has(name)) continue;
    if (isOfKeys(name) && numKeys === undefined)
      throw new OptionError(`${patch.at(name)} must be absent with attendOnly, which projects no keys`);
    given[name] =
      patch.value(name) === "mean"
        ? { heads: undefined, rows: undefined, tensor: "mean" }
        : readRows(patch.object(name, isOfKeys(name) ? KEY_NAMES : ROW_NAMES)!, name, extents, numKeys);
  }
  return given;
}

function readRows(rows: OptionReader, name: PatchName, extents: ViewExtents, numKeys: number | undefined): GivenPatch {
  const choice = readRowChoice(rows, name, extents, numKeys);
  for (const [list, indices] of Object.entries(choice) as [string, Int32Array | undefined][])
    if (indices && new Set(indices).size < indices.length)
      throw new OptionError(`${rows.at(list === "heads" ? list : "queries")} must not have an index twice`);
  if (!rows.has("data")) throw rows.missing("data", '[B, heads, rows, width], or "mean"');
  return { ...choice, tensor: readData(rows) };
}

function readData(rows: OptionReader): GivenPatch["tensor"] {
  const data = rows.value("data");
  if (data === "mean") return data;
  if (!rows.has("shape")) return rows.tensor("data", FLOATS)!;
  return rows.call.tensor(rows.path, { data, shape: rows.value("shape"), dtype: rows.value("dtype") }, FLOATS);
}

/** What the data of patches depends on, known when it is the call's turn. */
export interface PatchedCall {
  readonly shape: AttentionShape;
  /** The number of the call's own keys. */
  readonly contextLength: number;
  readonly sequences: readonly SequencePositions[];
  readonly ragged: Ragged | undefined;
}

/** Brings all data to its full shape, and checks weights. */
export function checkedPatches(
  operation: string,
  given: GivenPatches | undefined,
  call: PatchedCall,
): Patches | undefined {
  if (!given) return undefined;
  const patches = Object.entries(given).map(([name, { heads, rows, tensor }]): [string, RowPatch] => {
    const full = patchShape(name as PatchName, { heads, rows }, call);
    const data = tensor === "mean" ? tensor : broadcast(operation, name, tensor, full);
    if (name === "probs" && data !== "mean") checkWeights(operation, data, full, { heads, rows }, call);
    return [name, { heads, rows, data }];
  });
  return Object.fromEntries(patches);
}

/** The shape [B, heads, rows, width] of a patch. */
function patchShape(
  name: PatchName,
  { heads, rows }: RowChoice,
  { shape, contextLength }: PatchedCall,
): [number, number, number, number] {
  const ofKeys = isOfKeys(name);
  const widths = { query: shape.headDim, key: shape.headDim, probs: shape.keyLength };
  return [
    shape.batchSize,
    heads?.length ?? (ofKeys ? shape.numKvHeads : shape.numHeads),
    rows?.length ?? (ofKeys ? contextLength : shape.queryLength),
    (widths as Partial<Record<PatchName, number>>)[name] ?? shape.valueDim,
  ];
}

/** Repeats data along the axes where its extent is 1. */
function broadcast(
  operation: string,
  name: string,
  { data, shape, dtype }: CheckedTensor<"float32" | "float16">,
  full: readonly [number, number, number, number],
): Float32Array {
  const extents = [...[1, 1, 1, 1].slice(shape.length), ...shape];
  if (extents.length > 4 || extents.some((extent, axis) => extent !== 1 && extent !== full[axis]))
    throw new ShapeError(
      `${operation}: patch.${name}.shape must broadcast from the right to [batchSize, heads, rows, width] = ` +
        `${describe(full)}, got ${describe(shape)}`,
    );
  const floats = dtype === "float16" ? fromHalf(data as Uint16Array) : data;
  const [B, H, R, W] = full;
  const stride = extents.map((extent, axis) =>
    extent === 1 ? 0 : extents.slice(axis + 1).reduce((product, inner) => product * inner, 1),
  );
  const result = new Float32Array(B * H * R * W);
  let at = 0;
  for (let b = 0; b < B; ++b)
    for (let h = 0; h < H; ++h)
      for (let r = 0; r < R; ++r) {
        const from = b * stride[0]! + h * stride[1]! + r * stride[2]!;
        for (let w = 0; w < W; ++w) result[at++] = floats[from + w * stride[3]!]!;
      }
  return result;
}

/** Throws if a weight is not finite, or lies at a key that the row's sequence does not have. */
function checkWeights(
  operation: string,
  weights: Float32Array,
  [batchSize, numHeads, numRows, numKeys]: readonly [number, number, number, number],
  { heads, rows }: RowChoice,
  call: PatchedCall,
): void {
  for (let b = 0; b < batchSize; ++b)
    for (let r = 0; r < numRows; ++r) {
      const query = rows?.[r] ?? r;
      const [first, end] = keysOf(call, b, query);
      for (let h = 0; h < numHeads; ++h) {
        const from = ((b * numHeads + h) * numRows + r) * numKeys;
        const row = weights.subarray(from, from + numKeys);
        const key = row.findIndex((weight, j) => !Number.isFinite(weight) || (weight !== 0 && (j < first || j >= end)));
        if (key >= 0)
          throw new OptionError(
            `${operation}: patch.probs.data must be finite, and 0 outside of the keys from ${first} to before ${end}, ` +
              `which the sequence has; got ${row[key]} at key ${key}, query ${query}, head ${heads?.[h] ?? h}, batch ${b}`,
          );
      }
    }
}

/** The first key of a query's sequence, and the one after its last. */
function keysOf({ sequences, ragged }: PatchedCall, batch: number, query: number): readonly [number, number] {
  if (!ragged) return [0, sequences[batch]!.keyLength];
  let n = 0;
  while (ragged.query[n + 1]! <= query) ++n;
  return [ragged.key[n]!, ragged.key[n + 1]!];
}
