import { isArray } from "../foreign/typedArray.js";
import { BYTES, type Dtype, type HalfArray, type Nested, type TensorData, type TypedTensor } from "../tensor/tensor.js";
import { CallArguments } from "./callArguments.js";
import { readNested } from "./nested.js";
import { argument } from "./options.js";
import { dtypeOfElements, numbersAs } from "./plainNumbers.js";

/** The largest number of elements that are read from plain arrays. */
const MOST = 2 ** 26;
const DTYPES = Object.keys(BYTES) as Dtype[];

/**
 * Checks and builds a tensor.
 *
 *     tensor([[1, 0], [0, 1]])                       // float32 [2, 2]
 *     tensor([[true, false]])                        // bool [1, 2]
 *     tensor([1, 2, 3, 4], [2, 2], "int32")          // plain numbers, a shape and a dtype
 *     tensor(new Float32Array(6), [2, 3])            // refers to the array, copies nothing
 *
 * @param data - Nested arrays of numbers or booleans, all of one depth of the same length; or row-major a plain array, a
 *   Float32Array, a Uint16Array or Float16Array (float16), a Uint8Array (bool) or an Int32Array, with its shape.
 * @param shape - Extents whose product is `data.length`; `[]` is a scalar. Nested arrays have their shape in them.
 * @param dtype - Of numbers in plain arrays, default `"float32"`, of booleans `"bool"`.
 * @throws ShapeError if the arrays are not of equal length, if the extents are not non-negative integers or do not fit
 *   `data`.
 * @throws OptionError if `data` is none of the arrays above, or holds what the dtype does not have.
 */
export function tensor(data: Float32Array, shape: readonly number[]): TypedTensor<"float32">;
export function tensor(data: Uint16Array | HalfArray, shape: readonly number[]): TypedTensor<"float16">;
export function tensor(data: Uint8Array, shape: readonly number[]): TypedTensor<"bool">;
export function tensor(data: Int32Array, shape: readonly number[]): TypedTensor<"int32">;
export function tensor(data: readonly number[], shape: readonly number[]): TypedTensor<"float32">;
export function tensor(data: readonly boolean[], shape: readonly number[]): TypedTensor<"bool">;
export function tensor<D extends Dtype>(
  data: readonly (number | boolean)[],
  shape: readonly number[],
  dtype: D,
): TypedTensor<D>;
export function tensor(data: Nested<number>): TypedTensor<"float32">;
export function tensor(data: Nested<boolean>): TypedTensor<"bool">;
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
  const checked = call.tensor("tensor", { data: numbers, shape });
  return { data: numbers, shape: checked.shape, dtype };
}
