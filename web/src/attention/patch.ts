import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { namesOf, type NumberList, type OptionReader } from "../read/options.js";
import { fromHalf } from "../tensor/half.js";
import { product } from "../tensor/product.js";
import { FLOATS, type CheckedTensor, type FloatTensorLike } from "../tensor/tensor.js";
import type { AttentionShape } from "./attentionShape.js";
import type { SequencePositions } from "./callPositions.js";
import type { Ragged } from "./ragged.js";
import { chosenShape, isOfKeys, readRowChoice, type RowChoice, type ViewExtents } from "./views.js";

/** The new content of the chosen rows. */
export interface PatchRows {
  /** The chosen heads; for key and value key heads. Default all. */
  readonly heads?: NumberList | undefined;
  /** The chosen rows. Default all. */
  readonly queries?: NumberList | undefined;
  /**
   * `[B, heads, rows, width]` over the chosen heads and rows, broadcast from the right as in NumPy; or `"mean"`. It is a
   * tensor or a nested list, or a typed array whose shape is in `shape`.
   */
  readonly data: FloatTensorLike | Float32Array | "mean";
  /** The shape of `data`, if that is a typed array. */
  readonly shape?: readonly number[] | undefined;
  /** The dtype of `data`. So a tensor can be given as it is: `patch: { query: tensor }`. */
  readonly dtype?: "float32" | "float16" | undefined;
}

/**
 * Overwrites queries, weights or results of heads inside of a call of attention, for this call. What follows from a
 * patched row is computed exactly as if the call itself had computed the data: patching query or headOutputs with the
 * call's own data changes no bit.
 *
 * `"mean"` puts the mean of a head's rows, over the batch and all rows without padding, in place of each row. For probs
 * it puts the mean of a row's weights in place of the weight of each key that the row sees. Padding is never
 * overwritten.
 */
export interface AttendPatch {
  /** Queries after norm and rotary embedding, `[B, heads, queries, headDim]`. */
  readonly query?: PatchRows | "mean" | undefined;
  /**
   * Weights, `[B, heads, queries, Skv]`, finite, and 0 at keys that the batch does not have. They are used as they are:
   * they need not sum to 1, and may be at hidden keys, whose values are then read. A key with weight 0 has no effect.
   * probs, topK and entropy show them; lse and scores do not change. A row that is given weights is not empty.
   */
  readonly probs?: PatchRows | "mean" | undefined;
  /** The result of each head, after headGain: `[B, heads, queries, valueDim]`. */
  readonly headOutputs?: PatchRows | "mean" | undefined;
}

export const ATTEND_PATCHES = namesOf<AttendPatch>({ query: true, probs: true, headOutputs: true });

/** What a call can overwrite. Only a layer overwrites its own keys and values. */
export type PatchName = keyof AttendPatch | "key" | "value";

/** A checked patch. */
export interface RowPatch extends RowChoice {
  /** `[B, heads, rows, width]` over the chosen heads and rows; or the mean. */
  readonly data: Float32Array | "mean";
}

/** The checked option `patch`. */
export type Patches = { readonly [Name in PatchName]?: RowPatch };

const ROW_NAMES = namesOf<PatchRows>({ heads: true, queries: true, data: true, shape: true, dtype: true });
const KEY_NAMES = ["keys", ...ROW_NAMES];

/** A patch whose data has not been brought to its full shape: that may depend on a cache. */
export interface GivenPatch extends RowChoice {
  readonly tensor: CheckedTensor<"float32" | "float16"> | "mean";
}

/** The patches of a call as they were given. */
export type GivenPatches = { readonly [Name in PatchName]?: GivenPatch };

/** Reads a patch of `name`. `numKeys` is the number of the call's own keys. */
export function readRowPatch(
  patch: OptionReader,
  name: PatchName,
  extents: ViewExtents,
  numKeys: number | undefined,
): GivenPatch {
  if (patch.value(name) === "mean") return { heads: undefined, rows: undefined, tensor: "mean" };
  return readRows(patch.object(name, isOfKeys(name) ? KEY_NAMES : ROW_NAMES)!, name, extents, numKeys);
}

/** Throws if an index occurs twice. `name` is that of the list. */
function checkDistinct(name: string, indices: Int32Array = new Int32Array(0)): void {
  const seen = new Set<number>();
  for (const [n, index] of indices.entries()) {
    if (seen.has(index)) throw new OptionError(`${name}[${n}] must not occur twice, got ${index} again`);
    seen.add(index);
  }
}

function readRows(rows: OptionReader, name: PatchName, extents: ViewExtents, numKeys: number | undefined): GivenPatch {
  const choice = readRowChoice(rows, name, extents, numKeys);
  checkDistinct(rows.at("heads"), choice.heads);
  checkDistinct(rows.at(rows.has("keys") ? "keys" : "queries"), choice.rows);
  if (!rows.has("data")) throw rows.missing("data", '[B, heads, rows, width], or "mean"');
  return { ...choice, tensor: readData(rows) };
}

function readData(rows: OptionReader): GivenPatch["tensor"] {
  const data = rows.value("data");
  if (data === "mean") {
    for (const name of ["shape", "dtype"])
      if (rows.has(name)) throw rows.refuse(name, 'be left out where data is "mean"');
    return data;
  }
  if (!rows.has("shape")) return rows.tensor("data", FLOATS)!;
  return rows.call.tensor(rows.path, { data, shape: rows.value("shape"), dtype: rows.value("dtype") }, FLOATS);
}

/** The sizes on which the data of patches depends. They are known when it is the call's turn. */
export interface PatchedCall {
  readonly shape: AttentionShape;
  /** The number of the call's own keys, whose keys and values it may overwrite. */
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
    const width = name === "probs" ? call.shape.keyLength : undefined;
    const full = chosenShape(name, { heads, rows }, call.shape, width, call.contextLength);
    const data = tensor === "mean" ? tensor : broadcast(operation, name, tensor, full);
    if (name === "probs" && data !== "mean") checkWeights(operation, data, full, { heads, rows }, call);
    return [name, { heads, rows, data }];
  });
  return Object.fromEntries(patches);
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
  const stride = extents.map((extent, axis) => (extent === 1 ? 0 : product(extents.slice(axis + 1))));
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
