import type { WeightDtype } from "../linear/weight.js";
import { toBfloat, toHalf } from "../tensor/half.js";
import { product } from "../tensor/product.js";
import { ARRAYS, type WeightFloat } from "../tensor/tensor.js";
import { widened, words, type StoredDtype } from "../train/storedFloats.js";

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
