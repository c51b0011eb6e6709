import { describe } from "../base/describe.js";
import { OutOfMemoryError } from "../base/errors.js";
import { ARRAYS, BYTES, elementCount, type FloatTensor, type TypedTensor } from "./tensor.js";

/** The largest memory that WebAssembly can address. No engine reads a larger array. */
const MOST_BYTES = 2 ** 32;

/**
 * A tensor of zeros.
 *
 * @throws ShapeError if the number of elements is too large to count.
 * @throws OutOfMemoryError if the tensor does not fit an engine or JavaScript's memory.
 */
export function zeros(operation: string, argument: string, shape: readonly number[]): TypedTensor<"float32">;
export function zeros(
  operation: string,
  argument: string,
  shape: readonly number[],
  dtype: "float32" | "float16",
): FloatTensor;
export function zeros(
  operation: string,
  argument: string,
  shape: readonly number[],
  dtype: "bool",
): TypedTensor<"bool">;
export function zeros(
  operation: string,
  argument: string,
  shape: readonly number[],
  dtype: "float32" | "float16" | "bool" = "float32",
): FloatTensor | TypedTensor<"bool"> {
  const length = elementCount(operation, argument, shape);
  const bytes = length * BYTES[dtype];
  const needs = `${operation}: ${argument} ${describe(shape)} needs ${bytes} bytes`;
  if (bytes > MOST_BYTES) throw new OutOfMemoryError(`${needs}, and no engine has more than ${MOST_BYTES}`);
  try {
    return { data: new ARRAYS[dtype](length), shape, dtype } as FloatTensor | TypedTensor<"bool">;
  } catch (cause) {
    throw new OutOfMemoryError(`${needs}, which the memory of JavaScript does not have`, { cause });
  }
}
