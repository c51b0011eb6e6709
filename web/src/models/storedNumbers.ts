import { fromHalf, toHalf } from "../tensor/half.js";
import { elements } from "../tensor/plainTensor.js";
import { ARRAYS } from "../tensor/tensor.js";

/** The dtypes of files that models are read from, and the bytes of a number. */
export const STORED_BYTES = { F32: 4, F16: 2, BF16: 2 } as const;

export type StoredDtype = keyof typeof STORED_BYTES;

/** The dtypes of matrices in the engine. */
export type WeightDtype = "float32" | "float16" | "int8";

export type WeightData = Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Int8Array<ArrayBuffer>;

/** An array of zeros for a tensor. */
export function newData(dtype: WeightDtype, shape: readonly number[]): WeightData {
  return new ARRAYS[dtype](elements(shape));
}

/** Numbers of a file as floats of the engine. */
export function converted(stored: StoredDtype, bytes: Uint8Array<ArrayBuffer>, dtype: "float32" | "float16") {
  if (dtype === "float32") return widened(stored, bytes);
  return stored === "F16" ? words(bytes) : toHalf(widened(stored, bytes));
}

/** Numbers of a file as float32. It is exact. */
export function widened(stored: StoredDtype, bytes: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  switch (stored) {
    case "F32":
      return new Float32Array(bytes.buffer);
    case "F16":
      return fromHalf(words(bytes));
    case "BF16":
      return upperHalves(words(bytes));
  }
}

/** The bytes are a file's own copy, so they begin where their buffer begins. */
const words = ({ buffer }: Uint8Array<ArrayBuffer>) => new Uint16Array(buffer);

/** A bfloat16 is the upper half of a float32. */
function upperHalves(patterns: Uint16Array): Float32Array<ArrayBuffer> {
  const bits = new Uint32Array(patterns.length);
  for (let i = 0; i < bits.length; i++) bits[i] = patterns[i]! << 16;
  return new Float32Array(bits.buffer);
}
