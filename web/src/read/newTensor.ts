import { isArray } from "../base/typedArray.js";
import {
  DTYPES,
  type Dtype,
  type HalfArray,
  type Nested,
  type TensorData,
  type TypedTensor,
} from "../tensor/tensor.js";
import { CallArguments } from "./callArguments.js";
import { readNested } from "./nested.js";
import { argument } from "./options.js";
import { dtypeOfElements, numbersAs } from "./plainNumbers.js";

/** The largest number of elements in plain arrays. */
const MOST = 2 ** 26;

/**
 * Checks its arguments and makes a tensor. A typed array is not copied; plain arrays are.
 *
 *     tensor([[1, 0], [0, 1]])                       // float32 [2, 2]
 *     tensor([[true, false]])                        // bool [1, 2]
 *     tensor([1, 2, 3, 4], [2, 2], "int32")          // plain numbers, a shape and a dtype
 *     tensor(new Float32Array(6), [2, 3])            // refers to the array, copies nothing
 *
 * @param data - Either nested arrays of numbers or booleans, where arrays of one depth have one length. Or a flat array
 *   in row-major order, with `shape`: a plain array, a Float32Array, a Uint16Array or Float16Array (float16), an
 *   Int8Array, a Uint8Array (bool) or an Int32Array.
 * @param shape - Non-negative integers whose product is `data.length`; `[]` is a scalar. Leave it out for nested
 *   arrays.
 * @throws ShapeError if nested arrays differ in length, if an extent is not a non-negative integer, or if the shape
 *   does not fit `data`.
 * @throws OptionError if `data` is another kind of value, or has an element that the dtype cannot hold.
 */
export function tensor(data: Float32Array, shape: readonly number[]): TypedTensor<"float32">;
export function tensor(data: Uint16Array | HalfArray, shape: readonly number[]): TypedTensor<"float16">;
/** @param dtype - `"bfloat16"` says that the array holds bfloat16. */
export function tensor(data: Uint16Array, shape: readonly number[], dtype: "bfloat16"): TypedTensor<"bfloat16">;
export function tensor(data: Int8Array, shape: readonly number[]): TypedTensor<"int8">;
export function tensor(data: Uint8Array, shape: readonly number[]): TypedTensor<"bool">;
export function tensor(data: Int32Array, shape: readonly number[]): TypedTensor<"int32">;
export function tensor(data: readonly number[], shape: readonly number[]): TypedTensor<"float32">;
export function tensor(data: readonly boolean[], shape: readonly number[]): TypedTensor<"bool">;
/** @param dtype - The dtype of plain arrays. Default: `"float32"` for numbers, `"bool"` for booleans. */
export function tensor<D extends Dtype>(
  data: readonly (number | boolean)[],
  shape: readonly number[],
  dtype: D,
): TypedTensor<D>;
export function tensor(data: Nested<number>): TypedTensor<"float32">;
export function tensor(data: Nested<boolean>): TypedTensor<"bool">;
/** @param dtype - The dtype of plain arrays. Default: `"float32"` for numbers, `"bool"` for booleans. */
export function tensor<D extends Dtype>(data: Nested<number | boolean>, dtype: D): TypedTensor<D>;
export function tensor(data: unknown, second?: unknown, third?: unknown): TypedTensor {
  const call = new CallArguments("tensor");
  if (!isArray(data)) {
    const checked = call.tensor("tensor", { data, shape: second, dtype: third });
    return { data: data as TensorData, shape: checked.shape, dtype: checked.dtype };
  }
  const stated = isArray(second) ? third : (third ?? second);
  const { elements, shape: nested } = readNested(call, "data", data, MOST);
  const wanted = dtypeOfElements(elements[0], DTYPES);
  const dtype = argument(call, "dtype", stated).oneOf("dtype", DTYPES, wanted);
  const numbers = numbersAs(call.operation, "data", elements, dtype);
  const shape = isArray(second) ? second : nested;
  const checked = call.tensor("tensor", { data: numbers, shape, dtype });
  return { data: numbers, shape: checked.shape, dtype };
}
