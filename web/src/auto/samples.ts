import { toHalf } from "../tensor/half.js";
import { product } from "../tensor/product.js";
import type { TypedTensor } from "../tensor/tensor.js";
import type { Numbers } from "./numbers.js";

export type Floats = "float32" | "float16";

/** A tensor of numbers from −factor to factor. */
export function floatsOf(
  numbers: Numbers,
  dtype: Floats,
  shape: readonly number[],
  factor = 1,
): TypedTensor<"float32"> | TypedTensor<"float16"> {
  const data = numbers.floats(product(shape), factor);
  return dtype === "float32" ? { data, shape, dtype } : { data: toHalf(data), shape, dtype };
}
