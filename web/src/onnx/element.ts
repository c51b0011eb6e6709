import { getFloat16, setFloat16 } from "@petamoriken/float16";

import type { FloatResult } from "../backend.js";
import { CallArguments } from "../callArguments.js";
import { describe } from "../describe.js";
import { OptionError, ShapeError } from "../errors.js";
import { elementCount, type HalfArray } from "../tensor.js";
import { arrayKind } from "../typedArray.js";

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

/** An attention mask: bool in a Uint8Array, or numbers of any type. */
export interface NumericTensor {
  readonly data: Uint8Array | FloatTensor["data"] | Float64Array | IntegerTensor["data"];
  readonly shape: readonly number[];
  readonly dtype?: string;
}

/** A checked float tensor; float16 is held as bits, so that it can be moved about without conversion. */
export interface Floats {
  readonly data: Float32Array | Uint16Array;
  readonly shape: readonly number[];
  readonly dtype: "float32" | "float16";
}

export function checkFloats(operator: string, name: string, value: unknown): Floats {
  return new CallArguments(operator).tensor(name, value, ["float32", "float16"]) as Floats;
}

/** The values as 32-bit integers. */
export function checkIntegers(operator: string, name: string, value: unknown): { data: Int32Array; shape: number[] } {
  const { data, shape } = shaped(operator, name, value);
  return {
    shape,
    data: Int32Array.from(data, (x, k) => {
      const integer = Number(x);
      if (integer !== (integer | 0))
        throw new OptionError(`${operator}: ${name}.data[${k}] must be an integer of 32 bits, got ${describe(x)}`);
      return integer;
    }),
  };
}

/** Any numeric or boolean list with a shape that fits it. */
export function shaped(
  operator: string,
  name: string,
  value: unknown,
): { data: ArrayLike<number | bigint>; shape: number[]; kind: string | undefined } {
  if (typeof value !== "object" || value === null || !("data" in value) || !("shape" in value))
    throw new OptionError(`${operator}: ${name} must be a tensor { data, shape }, got ${describe(value)}`);
  const { data } = value;
  const shape = new CallArguments(operator).shape(name, value.shape);
  const kind = arrayKind(data);
  if (!kind && !Array.isArray(data))
    throw new OptionError(`${operator}: ${name}.data must be a typed array or an array, got ${describe(data)}`);
  const size = elementCount(operator, name, shape);
  const list = data as ArrayLike<number | bigint>;
  if (list.length !== size)
    throw new ShapeError(
      `${operator}: ${name}.data.length must be the product of shape ${describe(shape)}, got ${list.length} and ${size}`,
    );
  return { data: list, shape, kind };
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
export function asGiven({ data: given }: FloatTensor, { data, shape, dtype }: Floats): FloatResult {
  if (dtype === "float32" || arrayKind(given) !== "Float16Array") return { data, shape, dtype } as FloatResult;
  const Float16 = given.constructor as new (buffer: ArrayBufferLike, offset: number, length: number) => HalfArray;
  return { data: new Float16(data.buffer, data.byteOffset, data.length), shape, dtype };
}

/** A new array of the same element type. */
export function arrayLike<T extends Floats["data"] | Uint8Array>(data: T, length: number): T {
  return new (data.constructor as new (length: number) => T)(length);
}
