import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { assertIntactNow } from "../base/intact.js";
import { arrayKind, viewOf } from "../base/typedArray.js";
import type { TensorData } from "../tensor/tensor.js";
import type { CallArguments } from "./callArguments.js";

/**
 * The elements of an array or a typed array of any class. A typed array becomes our own view, whose elements are
 * numbers or bigints. An array is returned as it is, and its elements may be anything.
 *
 * @throws OptionError if a typed array's memory was detached, or if its class is not supported.
 */
export function elementsOf(call: CallArguments, argument: string, array: object): ArrayLike<unknown> {
  if (arrayKind(array) === undefined) return array as readonly unknown[];
  assertIntactNow(call.operation, argument, array);
  const view = viewOf(array);
  if (!view) throw new OptionError(`${call.operation}: ${argument} cannot be ${describe(array)}`);
  call.placement.locate?.(call.operation, argument, array, view as TensorData); // throws if the tensor was disposed
  return view;
}
