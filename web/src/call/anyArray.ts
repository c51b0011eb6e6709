import { assertIntact, type CallArguments } from "./callArguments.js";
import { describe } from "../foreign/describe.js";
import { OptionError } from "../errors/errors.js";
import { isArray } from "./options.js";
import { arrayKind, placeOf } from "../foreign/typedArray.js";
import type { TensorData } from "../tensor/tensor.js";

type View = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayLike<number | bigint>;

/** Every class of typed arrays, also those that no tensor has. */
const CLASSES: Readonly<Record<string, View>> = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
};

/** Whether a value is an array or a typed array of any class. */
export function isAnyArray(value: unknown): value is object {
  return isArray(value) || arrayKind(value) !== undefined;
}

/**
 * The elements of an array or a typed array of any class. A typed array becomes a view of our own, whose elements are
 * numbers or bigints; an array is returned as it is, and its elements may be anything.
 */
export function elementsOf(call: CallArguments, argument: string, array: object): ArrayLike<unknown> {
  const kind = arrayKind(array);
  if (kind === undefined) return array as readonly unknown[];
  const Class = CLASSES[kind] ?? (globalThis as unknown as Readonly<Record<string, View | undefined>>)[kind];
  if (!Class) throw new OptionError(`${call.operation}: ${argument} cannot be ${describe(array)}`);
  assertIntact(call.operation, argument, array);
  const { buffer, byteOffset, length } = placeOf(array);
  const view = new Class(buffer as ArrayBuffer, byteOffset, length);
  call.placement.locate?.(call.operation, argument, array, view as TensorData); // refuses memory that was given back
  return view;
}
