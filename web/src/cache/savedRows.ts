// The rows in the bytes of a saved cache. For every batch and head: the keys in order of position, then the values.
// Before int8 keys stands their mean, and after int8 rows follow the scales of their blocks. In version 1 of the file
// there is no mean, and a row has one scale. cpp/src/cache/kv_cache_file.cpp writes these bytes.

import { fromHalf } from "../tensor/half.js";
import type { CacheDtype } from "./cacheDtype.js";
import type { CacheForm } from "./cacheProblem.js";
import { heldLength } from "./heldTokens.js";

const BYTES: Readonly<Record<CacheDtype, number>> = { float32: 4, float16: 2, int8: 1 };
const FLOAT_BYTES = 4;
const CHECKSUM_BYTES = 4;

/** Numbers of an int8 row that share a scale. */
const SCALE_BLOCK = 32;

/** The version that the files of a dtype have. Older ones can be read. */
export function versionOf(dtype: CacheDtype): number {
  return dtype === "int8" ? 2 : 1;
}

/** Number of scales of a row. */
export function scalesOf({ dtype }: Pick<CacheForm, "dtype">, width: number, version = versionOf(dtype)): number {
  return dtype === "int8" ? (version === 1 ? 1 : Math.ceil(width / SCALE_BLOCK)) : 0;
}

/** Bytes of the mean of a head's keys. */
export function meanBytes(
  { dtype, headDim }: Pick<CacheForm, "dtype" | "headDim">,
  version = versionOf(dtype),
): number {
  return dtype === "int8" && version > 1 ? FLOAT_BYTES * headDim : 0;
}

type TokenForm = Pick<CacheForm, "dtype" | "numKvHeads" | "headDim" | "valueDim">;

/** Bytes of a row, including its scales. */
export function savedRowBytes(form: Pick<CacheForm, "dtype">, width: number, version = versionOf(form.dtype)): number {
  return BYTES[form.dtype] * width + FLOAT_BYTES * scalesOf(form, width, version);
}

/** Bytes of one token in all heads, keys and values. */
export function tokenBytes(form: TokenForm, version = versionOf(form.dtype)): number {
  const { numKvHeads, headDim, valueDim } = form;
  return numKvHeads * (savedRowBytes(form, headDim, version) + savedRowBytes(form, valueDim, version));
}

/** Bytes of all rows, with the means of batches that are not empty. */
export function savedBytes(form: CacheForm, appended: readonly number[], version = versionOf(form.dtype)): number {
  const tokens = appended.reduce((sum, total, b) => sum + heldLength(form, total, b), 0);
  const batches = appended.filter((total) => total > 0).length;
  return tokens * tokenBytes(form, version) + batches * form.numKvHeads * meanBytes(form, version);
}

/** Keys and values as float32, `[B, numKvHeads, length, width]`. Rows that a batch does not have are 0. */
export interface CacheRows {
  readonly key: Float32Array;
  readonly value: Float32Array;
}

/**
 * Reads the rows of a saved cache. The bytes must be intact: nothing is checked.
 *
 * @param length - The number of rows of the fullest batch.
 */
export function readRows(saved: Uint8Array, form: CacheForm, appended: readonly number[], length: number): CacheRows {
  const { batchSize, numKvHeads, headDim, valueDim } = form;
  const room = (width: number) => new Float32Array(batchSize * numKvHeads * length * width);
  const rows: CacheRows = { key: room(headDim), value: room(valueDim) };
  let at = saved.length - CHECKSUM_BYTES - savedBytes(form, appended);
  appended.forEach((total, b) => {
    const held = heldLength(form, total, b);
    if (held === 0) return;
    for (let head = b * numKvHeads; head < (b + 1) * numKvHeads; ++head)
      for (const [numbers, width] of [
        [rows.key, headDim],
        [rows.value, valueDim],
      ] as const) {
        const mean = numbers === rows.key ? saved.slice(at, at + meanBytes(form)) : new Uint8Array();
        at += mean.length;
        const bytes = saved.slice(at, at + held * savedRowBytes(form, width)); // a copy is aligned; the file is not
        numbers.set(numbersOf(bytes, form.dtype, held, width, new Float32Array(mean.buffer)), head * length * width);
        at += bytes.length;
      }
  });
  return rows;
}

/** The numbers of `rows` rows of int8, to which a mean may be added, or of another dtype. */
function numbersOf(
  { buffer }: Uint8Array,
  dtype: CacheDtype,
  rows: number,
  width: number,
  mean: Float32Array,
): Float32Array {
  const count = rows * width;
  if (dtype === "float32") return new Float32Array(buffer, 0, count);
  if (dtype === "float16") return fromHalf(new Uint16Array(buffer, 0, count));
  const integers = new Int8Array(buffer, 0, count);
  const scales = new DataView(buffer, count); // not aligned
  const scalesOfRow = scalesOf({ dtype }, width);
  const numbers = new Float32Array(count);
  for (let row = 0; row < rows; ++row)
    for (let d = 0; d < width; ++d) {
      const n = row * width + d;
      const scale = scales.getFloat32((row * scalesOfRow + Math.floor(d / SCALE_BLOCK)) * FLOAT_BYTES, true);
      numbers[n] = Math.fround(integers[n]! * scale) + (mean[d] ?? 0);
    }
  return numbers;
}
