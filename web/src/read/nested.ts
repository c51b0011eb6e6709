import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { isAnyArray } from "../base/typedArray.js";
import { product } from "../tensor/product.js";
import { MAX_RANK } from "../tensor/tensor.js";
import type { Element } from "./plainNumbers.js";

/** Numbers of nested arrays in row-major order, and their shape. */
export interface NestedNumbers {
  readonly elements: readonly Element[];
  readonly shape: readonly number[];
}

/** Reads a list of the caller, each element once. */
interface ListReader {
  readonly operation: string;
  list<T>(
    argument: string,
    value: object,
    check: (length: number) => void,
    read: (element: unknown, n: number) => T,
  ): T[];
}

/**
 * Reads nested arrays, such as `[[1, 0], [0, 1]]`. The innermost ones may be typed arrays.
 *
 * @param most - The largest allowed number of elements. Empty arrays count as arrays of one.
 * @throws ShapeError if arrays of one depth differ in length.
 */
export function readNested(call: ListReader, argument: string, value: object, most: number): NestedNumbers {
  const shape: number[] = [];
  const elements: Element[] = [];
  /** The axis of the numbers; undefined until the first number is read. */
  let last: number | undefined;

  const readArray = (array: object, axis: number, path: string): void => {
    if (axis >= MAX_RANK) throw new ShapeError(`${call.operation}: ${argument} must have at most ${MAX_RANK} axes`);
    const checkLength = (length: number) => {
      if (axis < shape.length) {
        if (length === shape[axis]) return;
        throw new ShapeError(
          `${call.operation}: ${path} must be as long as the first array of its depth, got ${length} and ${shape[axis]}`,
        );
      }
      shape.push(length);
      // All arrays of a depth are as long as its first, so the first path tells how many numbers there will be. No depth
      // has more arrays.
      if (product(shape.map((extent) => Math.max(extent, 1))) > most)
        throw new OptionError(`${call.operation}: ${argument} may hold at most ${most} numbers in plain arrays`, {
          hint: `Give a typed array and its shape: { data, shape }.`,
        });
    };
    call.list(path, array, checkLength, (element, n) => readElement(element, axis, path, n));
  };

  const readElement = (element: unknown, axis: number, list: string, n: number): void => {
    const isArray = isAnyArray(element);
    last ??= isArray ? undefined : axis;
    if (isArray !== (last !== axis))
      throw new ShapeError(
        `${call.operation}: ${list}[${n}] must be ${isArray ? "a number" : "an array"} like those beside it`,
      );
    if (isArray) return readArray(element, axis + 1, `${list}[${n}]`);
    if (typeof element !== "number" && typeof element !== "bigint" && typeof element !== "boolean")
      throw new OptionError(`${call.operation}: ${list}[${n}] must be a number or a boolean, got ${describe(element)}`);
    elements.push(element);
  };

  readArray(value, 0, argument);
  return { elements, shape };
}
