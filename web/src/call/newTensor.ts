import type { HalfArray, TensorData, TypedTensor } from "../tensor/tensor.js";
import { CallArguments } from "./callArguments.js";

/**
 * Checks and builds a tensor. The array is referred to, not copied.
 *
 * @param data - Float32Array, Uint16Array or Float16Array (float16), Uint8Array (bool) or Int32Array, row-major.
 * @param shape - Extents whose product is `data.length`; `[]` is a scalar.
 * @throws ShapeError if the extents are not non-negative integers or do not fit `data`.
 * @throws OptionError if `data` is none of the arrays above.
 */
export function tensor(data: Float32Array, shape: readonly number[]): TypedTensor<"float32">;
export function tensor(data: Uint16Array | HalfArray, shape: readonly number[]): TypedTensor<"float16">;
export function tensor(data: Uint8Array, shape: readonly number[]): TypedTensor<"bool">;
export function tensor(data: Int32Array, shape: readonly number[]): TypedTensor<"int32">;
export function tensor(data: TensorData, shape: readonly number[]): TypedTensor {
  const checked = new CallArguments("tensor").tensor("tensor", { data, shape });
  return { data, shape: checked.shape, dtype: checked.dtype };
}
