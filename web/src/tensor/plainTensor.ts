import { describe, isObject, withArticle } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { assertIntactNow } from "../base/intact.js";
import { arrayKind, isArray, placeOf, viewOf } from "../base/typedArray.js";
import { product } from "./product.js";
import { MAX_RANK } from "./tensor.js";

/** A dense array of float32 in row-major order. All numbers of `headwise/train` and `headwise/inspect` are in such tensors. */
export interface Floats {
  readonly data: Float32Array;
  /** Non-negative integers. Their product is `data.length`. */
  readonly shape: readonly number[];
}

/** Integers: an Int32Array, or a tensor of int32. A bare array has rank 1. */
export type Indices = Int32Array | { readonly data: Int32Array; readonly shape: readonly number[] };

/**
 * Checks that an argument is a tensor of float32. Its fields are read once: the result has a view of its own on the same
 * numbers, and its own shape.
 */
export function floats(operation: string, argument: string, value: unknown): Floats {
  return checked(operation, argument, value, "Float32Array") as Floats;
}

/** Checks that an argument is an Int32Array, or a tensor of one, and reads it once. */
export function indices(operation: string, argument: string, value: unknown) {
  const given = arrayKind(value) ? { data: value, shape: [placeOf(value as object).length] } : value;
  return checked(operation, argument, given, "Int32Array") as { data: Int32Array; shape: readonly number[] };
}

/**
 * Throws if an array has lost its memory since it was read: the getters of the arguments that were read after it are the
 * caller's code.
 */
export function assertAllThere(
  operation: string,
  arrays: Readonly<Record<string, Float32Array | Int32Array | undefined>>,
): void {
  for (const [argument, array] of Object.entries(arrays)) if (array) assertIntactNow(operation, argument, array);
}

/** The place of the first integer that is not from `least` to `most`; −1 if there is none. `findIndex` takes much longer. */
export function firstOutside(integers: Int32Array, least: number, most: number): number {
  for (let n = 0; n < integers.length; n++) if (integers[n]! < least || integers[n]! > most) return n;
  return -1;
}

function checked(operation: string, argument: string, value: unknown, kind: string): unknown {
  return guarded(operation, argument, () => {
    const { data, shape } = (isObject(value) ? value : {}) as Partial<Record<"data" | "shape", unknown>>;
    if (arrayKind(data) !== kind || !isArray(shape))
      throw new OptionError(
        `${operation}: ${argument} must be a tensor { data, shape } with ${withArticle(kind)}, got ${describe(value)}` +
          (data === undefined ? "" : ` whose data is ${describe(data)}`),
      );
    const extents = extentsIn(shape);
    assertIntactNow(operation, `${argument}.data`, data as object);
    const view = viewOf(data as object)!;
    if (!extents || product(extents) !== view.length)
      throw new ShapeError(
        `${operation}: ${argument}.shape must be integers whose product is data.length, ` +
          `got ${describe(extents ?? shape)} and ${view.length}`,
      );
    return { data: view, shape: extents };
  });
}

/** The extents in an array of the caller's, each read once; undefined if it has anything but integers of 0 or more. */
export function extentsIn(value: unknown): number[] | undefined {
  if (!isArray(value)) return undefined;
  const list = value as ArrayLike<unknown>;
  const extents = Array.from({ length: Math.min(list.length, MAX_RANK + 1) }, (_, axis) => list[axis]);
  return extents.length <= MAX_RANK && isShape(extents) ? [...extents] : undefined;
}

/** Whether a value is a list of integers of 0 or more. */
export function isShape(value: unknown): value is readonly number[] {
  return (
    isArray(value) &&
    (value as readonly unknown[]).every((extent) => Number.isSafeInteger(extent) && (extent as number) >= 0)
  );
}

/** Throws if a tensor does not have the shape that it must have. `rule` says which shape that is. */
export function assertShape(
  operation: string,
  argument: string,
  { shape }: { readonly shape: readonly number[] },
  wanted: readonly number[],
  rule: string,
): void {
  if (shape.length !== wanted.length || shape.some((extent, axis) => extent !== wanted[axis]))
    throw new ShapeError(`${operation}: ${argument}.shape must be ${rule} ${describe(wanted)}, got ${describe(shape)}`);
}

/** The last extent of a tensor that must have at least one axis and at least one column. */
export function lastExtent(operation: string, argument: string, { shape }: Floats): number {
  const last = shape.at(-1);
  if (!last)
    throw new ShapeError(`${operation}: ${argument}.shape must end in an extent of 1 or more, got ${describe(shape)}`);
  return last;
}

/** Throws if a value is not a number that a rule allows. */
export function assertNumber(
  operation: string,
  argument: string,
  value: unknown,
  rule: string,
  allows: (value: number) => boolean,
): void {
  if (typeof value !== "number" || !allows(value))
    throw new OptionError(`${operation}: ${argument} must be ${rule}, got ${describe(value)}`);
}
