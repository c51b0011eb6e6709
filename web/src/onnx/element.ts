import { getFloat16, setFloat16 } from "@petamoriken/float16";

import type { FloatResult } from "../backend.js";
import { arrayKind, describe, isObject } from "../describe.js";
import { OptionError, OutOfMemoryError, ShapeError } from "../errors.js";
import { ARRAYS, asHalves, checkTensor, elementCount, type HalfArray } from "../tensor.js";

/** float32, or float16 as a Float16Array or as raw bits. */
export interface FloatTensor {
  readonly data: Float32Array | Uint16Array | HalfArray;
  readonly shape: readonly number[];
  readonly dtype?: "float32" | "float16";
}

/** Lengths and positions: ONNX's int64 in whatever holds them. */
export interface IntegerTensor {
  readonly data: Int32Array | BigInt64Array | readonly (number | bigint)[];
  readonly shape: readonly number[];
  readonly dtype?: string;
}

/** An attention mask: booleans, also as a Uint8Array, or numbers of any type. */
export interface NumericTensor {
  readonly data: Uint8Array | FloatTensor["data"] | Float64Array | IntegerTensor["data"] | readonly boolean[];
  readonly shape: readonly number[];
  readonly dtype?: string;
}

/** A checked float tensor; float16 is held as bits, so that it can be moved about without conversion. */
export interface Floats {
  readonly data: Float32Array | Uint16Array;
  readonly shape: readonly number[];
  readonly dtype: "float32" | "float16";
}

/** A tensor of the caller's. */
export interface GivenFloats extends Floats {
  /** Its bits came as a Float16Array, and so do those of results in its type. */
  readonly half: boolean;
}

export function checkFloats(operator: string, name: string, value: unknown): GivenFloats {
  const { data, shape, dtype } = checkTensor(operator, name, value, ["float32", "float16"]);
  const { buffer, byteOffset, length } = data as Float32Array<ArrayBuffer>;
  if (dtype === "float32") return { data: new Float32Array(buffer, byteOffset, length), shape, dtype, half: false };
  return { data: bitsOf(data), shape, dtype, half: arrayKind(data) === "Float16Array" };
}

/** The bits of float16 numbers, not copied. */
export function bitsOf({ buffer, byteOffset, length }: Uint16Array | HalfArray): Uint16Array {
  return new Uint16Array(buffer, byteOffset, length);
}

/** The values as 32-bit integers from `min` to `max`. */
export function checkIntegers(
  operator: string,
  name: string,
  value: unknown,
  { min, max }: { readonly min: number; readonly max: number },
): { data: Int32Array; shape: readonly number[] } {
  const { data, shape } = shaped(operator, name, value);
  const integers = emptyArray(operator, name, "int32", data.length);
  for (let k = 0; k < integers.length; ++k) {
    const integer = Number(data[k]);
    if (!Number.isInteger(integer) || integer < min || integer > max || typeof data[k] === "boolean")
      throw new OptionError(
        `${operator}: ${name}.data[${k}] must be an integer from ${min} to ${max}, got ${describe(data[k])}`,
      );
    integers[k] = integer;
  }
  return { data: integers, shape };
}

export type Element = number | bigint | boolean;

/** A numeric or boolean list with a shape that fits it. */
export interface Shaped {
  readonly data: ArrayLike<Element>;
  readonly shape: readonly number[];
  /** That of a typed array. */
  readonly kind: string | undefined;
  /** As the caller states it. */
  readonly dtype: unknown;
}

export function shaped(operator: string, name: string, value: unknown): Shaped {
  if (!isObject(value) || !("data" in value) || !("shape" in value))
    throw new OptionError(`${operator}: ${name} must be a tensor { data, shape }, got ${describe(value)}`);
  const { data, shape, dtype } = value as Readonly<Record<"data" | "shape" | "dtype", unknown>>;
  const kind = arrayKind(data);
  if (!kind && !Array.isArray(data))
    throw new OptionError(`${operator}: ${name}.data must be a typed array or an array, got ${describe(data)}`);
  const size = elementCount(operator, name, shape);
  const { length } = data as ArrayLike<Element>;
  if (length !== size)
    throw new ShapeError(
      `${operator}: ${name}.data.length must be the product of shape ${describe(shape)}, got ${length} and ${size}`,
    );
  const elements = kind ? (data as ArrayLike<Element>) : checkElements(operator, name, data as unknown[]);
  return { data: elements, shape: [...(shape as number[])], kind, dtype };
}

/** A copy of a plain list, which may hold anything. */
function checkElements(operator: string, name: string, list: readonly unknown[]): Element[] {
  const elements: Element[] = [];
  for (let k = 0; k < list.length; ++k) {
    const element = list[k];
    if (typeof element !== "number" && typeof element !== "bigint" && typeof element !== "boolean")
      throw new OptionError(
        `${operator}: ${name}.data[${k}] must be a number, a bigint or a boolean, got ${describe(element)}`,
      );
    elements.push(element);
  }
  return elements;
}

export function checkRank(operator: string, name: string, shape: readonly number[], ranks: readonly number[]): void {
  if (!ranks.includes(shape.length))
    throw new ShapeError(`${operator}: ${name} must have rank ${ranks.join(" or ")}, got shape ${describe(shape)}`);
}

/** The same numbers as float32. */
export function widen({ data, shape, dtype }: Floats): Floats & { data: Float32Array; dtype: "float32" } {
  if (dtype === "float32") return { data: data as Float32Array, shape, dtype };
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return { data: Float32Array.from(data, (_, k) => getFloat16(view, 2 * k, true)), shape, dtype: "float32" };
}

/** The nearest numbers of type `dtype`. */
export function convert(tensor: Floats, dtype: Floats["dtype"]): Floats {
  if (tensor.dtype === dtype) return tensor;
  if (dtype === "float32") return widen(tensor);
  const bits = new Uint16Array(tensor.data.length);
  const view = new DataView(bits.buffer);
  tensor.data.forEach((x, k) => setFloat16(view, 2 * k, x, true));
  return { data: bits, shape: tensor.shape, dtype };
}

/** A result in the kind of array that the caller gave: a Float16Array for a Float16Array. */
export function asGiven({ half }: GivenFloats, { data, shape, dtype }: Floats): FloatResult {
  return { data: half && dtype === "float16" ? asHalves(data as Uint16Array) : data, shape, dtype } as FloatResult;
}

/** A new array for numbers of this type. */
export function emptyArray<D extends keyof typeof ARRAYS>(
  operator: string,
  name: string,
  dtype: D,
  length: number,
): InstanceType<(typeof ARRAYS)[D]> {
  try {
    return new ARRAYS[dtype](length) as InstanceType<(typeof ARRAYS)[D]>;
  } catch (cause) {
    throw new OutOfMemoryError(`${operator}: ${name} of ${length} numbers does not fit the memory of JavaScript`, {
      cause,
    });
  }
}
