// The rows in the bytes of a saved cache. For every batch and head: the keys in order of position, then the values.
// After int8 rows follow their scales. cpp/src/cache/kv_cache_file.cpp writes these bytes.

import { fromHalf } from "../tensor/half.js";
import { heldLength, type CacheDtype, type CacheForm } from "./cacheProblem.js";

const BYTES: Readonly<Record<CacheDtype, number>> = { float32: 4, float16: 2, int8: 1 };
const SCALE_BYTES = 4;
const CHECKSUM_BYTES = 4;

type TokenForm = Pick<CacheForm, "dtype" | "numKvHeads" | "headDim" | "valueDim">;

/** Bytes of a row, including its scale. */
export function savedRowBytes({ dtype }: Pick<CacheForm, "dtype">, width: number): number {
  return BYTES[dtype] * width + (dtype === "int8" ? SCALE_BYTES : 0);
}

/** Bytes of one token in all heads, keys and values. */
export function tokenBytes(form: TokenForm): number {
  return form.numKvHeads * (savedRowBytes(form, form.headDim) + savedRowBytes(form, form.valueDim));
}

/** Bytes of all rows. */
export function savedBytes(form: CacheForm, appended: readonly number[]): number {
  return appended.reduce((sum, total) => sum + heldLength(form, total), 0) * tokenBytes(form);
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
    const held = heldLength(form, total);
    for (let head = b * numKvHeads; head < (b + 1) * numKvHeads; ++head)
      for (const [numbers, width] of [
        [rows.key, headDim],
        [rows.value, valueDim],
      ] as const) {
        const bytes = saved.slice(at, at + held * savedRowBytes(form, width)); // a copy is aligned; the file is not
        numbers.set(numbersOf(bytes, form.dtype, held, width), head * length * width);
        at += bytes.length;
      }
  });
  return rows;
}

/** The numbers of `rows` rows. */
function numbersOf({ buffer }: Uint8Array, dtype: CacheDtype, rows: number, width: number): Float32Array {
  const count = rows * width;
  if (dtype === "float32") return new Float32Array(buffer, 0, count);
  if (dtype === "float16") return fromHalf(new Uint16Array(buffer, 0, count));
  const view = new DataView(buffer, count);
  return Float32Array.from(new Int8Array(buffer, 0, count), (integer, n) => {
    const row = Math.floor(n / width);
    return integer * view.getFloat32(row * SCALE_BYTES, true);
  });
}
