import { OptionError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import { arrayKind, viewOf } from "../foreign/typedArray.js";
import { assertIntact, type CallArguments } from "./callArguments.js";

/**
 * The elements of an array or a typed array of any class. A typed array becomes a view of our own, whose elements are
 * numbers or bigints; an array is returned as it is, and its elements may be anything.
 */
export function elementsOf(call: CallArguments, argument: string, array: object): ArrayLike<unknown> {
  if (arrayKind(array) === undefined) return array as readonly unknown[];
  assertIntact(call.operation, argument, array);
  const view = viewOf(array);
  if (!view) throw new OptionError(`${call.operation}: ${argument} cannot be ${describe(array)}`);
  return view;
}
