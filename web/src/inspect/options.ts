import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { arrayKind, isArray, viewOf } from "../base/typedArray.js";
import { assertNumber } from "../tensor/plainTensor.js";

/** Throws if a value is not one of the strings that an option may be. */
export function assertOneOf(operation: string, option: string, value: unknown, allowed: readonly string[]): void {
  if (!allowed.includes(value as string))
    throw new OptionError(
      `${operation}: ${option} must be ${allowed.map(describe).join(" or ")}, got ${describe(value)}`,
    );
}

/** Throws if a value is not a number of things: an integer of 1 or more. */
export function assertCount(operation: string, argument: string, value: unknown): asserts value is number {
  assertNumber(operation, argument, value, "an integer of 1 or more", (each) => Number.isSafeInteger(each) && each > 0);
}

/**
 * Integers that a user gives as an array or an Int32Array, each from `low` to `high`.
 *
 * @param kind - What the option may be, for messages: "a list", or more.
 */
export function integers(
  operation: string,
  option: string,
  value: unknown,
  low: number,
  high: number,
  kind = "a list",
): Int32Array {
  const list = guarded(operation, option, () => numbersIn(value));
  if (!list)
    throw new OptionError(
      `${operation}: ${option} must be ${kind} of at most ${MAX_LIST} integers, got ${describe(value)}`,
    );
  if (!list.every((each) => Number.isInteger(each) && each >= low && each <= high))
    throw new OptionError(`${operation}: ${option} must be integers from ${low} to ${high}, got ${describe(value)}`);
  return Int32Array.from(list);
}

/** The most integers that an option may list, and the most heads. */
export const MAX_LIST = 2 ** 20;

/** The elements of an array or a typed array; undefined for anything else. */
function numbersIn(value: unknown): number[] | undefined {
  const list = arrayKind(value) ? viewOf(value as object) : isArray(value) ? (value as ArrayLike<number>) : undefined;
  if (!list || list.length > MAX_LIST) return undefined;
  return Array.from({ length: list.length }, (_, n) => list[n] as number);
}
