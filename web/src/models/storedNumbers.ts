import type { WeightDtype } from "../linear/weight.js";
import { fromBfloat, fromHalf, toBfloat, toHalf } from "../tensor/half.js";
import { product } from "../tensor/product.js";
import { ARRAYS, type WeightFloat } from "../tensor/tensor.js";

/** The dtypes of files that models are read from, and the bytes of a number. */
export const STORED_BYTES = { F32: 4, F16: 2, BF16: 2 } as const;

export type StoredDtype = keyof typeof STORED_BYTES;

/** The dtypes of tensors that hold these numbers as they are. */
export const DTYPES = { F32: "float32", F16: "float16", BF16: "bfloat16" } as const;

export type WeightData = Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Int8Array<ArrayBuffer>;

/** An array of zeros for a tensor. */
export function newData(dtype: WeightDtype, shape: readonly number[]): WeightData {
  return new ARRAYS[dtype](product(shape));
}

/** Numbers of a file as floats of the engine. */
export function converted(stored: StoredDtype, bytes: Uint8Array<ArrayBuffer>, dtype: WeightFloat) {
  if (dtype === DTYPES[stored] && dtype !== "float32") return words(bytes);
  const floats = widened(stored, bytes);
  return dtype === "float32" ? floats : dtype === "float16" ? toHalf(floats) : toBfloat(floats);
}

/** Numbers of a file as float32. It is exact. */
export function widened(stored: StoredDtype, bytes: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  switch (stored) {
    case "F32":
      return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    case "F16":
      return fromHalf(words(bytes));
    case "BF16":
      return fromBfloat(words(bytes));
  }
}

const words = ({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>) =>
  new Uint16Array(buffer, byteOffset, length / 2);
