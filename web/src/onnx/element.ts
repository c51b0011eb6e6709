import type { FloatResult } from "../attention/attentionResult.js";
import { describe, isObject } from "../base/describe.js";
import { OptionError, OutOfMemoryError, ShapeError } from "../base/errors.js";
import { arrayKind, isAnyArray } from "../base/typedArray.js";
import { elementsOf } from "../read/anyArray.js";
import { shapeName, type CallArguments } from "../read/callArguments.js";
import { fromHalf, toHalf } from "../tensor/half.js";
import { ARRAYS, asHalves, elementCount, type HalfArray } from "../tensor/tensor.js";

/** A shape. Tensors of ONNX Runtime and transformers.js name it `dims`. */
type Extents = { readonly shape: readonly number[] } | { readonly dims: readonly number[] };

/** A float32 or float16 tensor, row-major. float16 is a Float16Array, or a Uint16Array of its 16-bit patterns. */
export type FloatTensor = Extents & {
  readonly data: Float32Array | Uint16Array | HalfArray;
  readonly dtype?: "float32" | "float16" | undefined;
};

/** Lengths or positions. ONNX has int64; here they may be in any of these arrays. */
export type IntegerTensor = Extents & {
  readonly data: Int32Array | BigInt64Array | readonly (number | bigint)[];
  readonly dtype?: string | undefined;
};

/**
 * An attention mask: booleans, a Uint8Array of booleans, or numbers of any type. `dtype` (`type` of a tensor of ONNX Runtime)
 * says otherwise: a Uint8Array of dtype uint8 holds numbers. Numbers are rounded to float32: those below −3.4e38 become
 * −Infinity, which hides the key.
 */
export type NumericTensor = Extents & {
  readonly data: Uint8Array | FloatTensor["data"] | Float64Array | IntegerTensor["data"] | readonly boolean[];
  readonly dtype?: string | undefined;
};

/** A checked float tensor. float16 is kept as 16-bit patterns, which can be copied without conversion. */
export interface Floats {
  readonly data: Float32Array | Uint16Array;
  readonly shape: readonly number[];
  readonly dtype: "float32" | "float16";
}

/** A checked float tensor of the caller. */
export interface GivenFloats extends Floats {
  /** Whether float16 came in a Float16Array. Then results of its type are Float16Arrays too. */
  readonly half: boolean;
}

/** Checks a float tensor. Its numbers are not copied. Messages use the input's name. */
export function checkFloats(call: CallArguments, name: string, value: unknown): GivenFloats {
  const { data, shape, dtype, half = false } = call.tensor(name, value, ["float32", "float16"]);
  return { data: data as Floats["data"], shape, dtype, half };
}

/** A copy of the numbers. The caller cannot change it while the call waits. */
export function copyOf<F extends Floats>(call: CallArguments, name: string, floats: F): F {
  const data = emptyArray(call, name, floats.dtype, floats.data.length);
  data.set(floats.data);
  return { ...floats, data };
}

/** The dtypes of integers. */
export const INTEGERS: readonly unknown[] = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];

/** Reads the values as 32-bit integers from `min` to `max`. */
export function checkIntegers(
  call: CallArguments,
  name: string,
  value: unknown,
  { min, max }: { readonly min: number; readonly max: number },
): { data: Int32Array; shape: readonly number[] } {
  const { data, shape, dtype } = shaped(call, name, value);
  if (dtype !== undefined && !INTEGERS.includes(dtype))
    throw new OptionError(
      `${call.operation}: ${name}.dtype must be one of ${INTEGERS.join(", ")}, got ${describe(dtype)}`,
    );
  const integers = emptyArray(call, name, "int32", data.length);
  for (let k = 0; k < integers.length; ++k) {
    const integer = Number(data[k]);
    if (!Number.isInteger(integer) || integer < min || integer > max || typeof data[k] === "boolean")
      throw new OptionError(
        `${call.operation}: ${name}.data[${k}] must be an integer from ${min} to ${max}, got ${describe(data[k])}`,
      );
    integers[k] = integer;
  }
  return { data: integers, shape };
}

export type Element = number | bigint | boolean;

/** A list of numbers or booleans, with a shape that fits it. */
export interface Shaped {
  readonly data: ArrayLike<Element>;
  readonly shape: readonly number[];
  /** The class of a typed array; undefined if the list is no typed array. */
  readonly kind: string | undefined;
  /** The dtype that the caller states, unchecked. */
  readonly dtype: unknown;
}

export function shaped(call: CallArguments, name: string, value: unknown): Shaped {
  const { operation } = call;
  return call.guarded(name, () => {
    const extents = isObject(value) ? shapeName(value) : "shape";
    if (!isObject(value) || !("data" in value) || !(extents in value))
      throw new OptionError(`${operation}: ${name} must be a tensor { data, shape }, got ${describe(value)}`);
    const {
      data,
      [extents]: givenShape,
      [extents === "dims" && !("dtype" in value) ? "type" : "dtype"]: dtype, // ONNX Runtime names it `type`
    } = value as Readonly<Record<"data" | "shape" | "dims" | "dtype" | "type", unknown>>;
    if (!isAnyArray(data))
      throw new OptionError(`${operation}: ${name}.data must be a typed array or an array, got ${describe(data)}`);
    const shape = call.shape(name, givenShape);
    const size = elementCount(operation, name, shape);
    const list = elementsOf(call, `${name}.data`, data);
    const { length } = list;
    if (length !== size)
      throw new ShapeError(
        `${operation}: ${name}.data.length must be the product of shape ${describe(shape)}, got ${length} and ${size}`,
      );
    const kind = arrayKind(data);
    return { data: kind ? (list as Shaped["data"]) : checkElements(call, name, list, length), shape, kind, dtype };
  });
}

/** Checks that a plain list holds numbers, bigints or booleans, and copies it. */
function checkElements(call: CallArguments, name: string, list: ArrayLike<unknown>, length: number): Element[] {
  const elements: Element[] = [];
  for (let k = 0; k < length; ++k) {
    const element = list[k];
    if (typeof element !== "number" && typeof element !== "bigint" && typeof element !== "boolean")
      throw new OptionError(
        `${call.operation}: ${name}.data[${k}] must be a number, a bigint or a boolean, got ${describe(element)}`,
      );
    elements.push(element);
  }
  return elements;
}

export function checkRank(
  { operation }: CallArguments,
  name: string,
  shape: readonly number[],
  ranks: readonly number[],
): void {
  if (!ranks.includes(shape.length))
    throw new ShapeError(`${operation}: ${name} must have rank ${ranks.join(" or ")}, got shape ${describe(shape)}`);
}

/** The same numbers as float32. */
export function widen({ data, shape, dtype }: Floats): Floats & { data: Float32Array; dtype: "float32" } {
  if (dtype === "float32") return { data: data as Float32Array, shape, dtype };
  return { data: fromHalf(data as Uint16Array), shape, dtype: "float32" };
}

/** The numbers, rounded to the nearest of type `dtype`. */
export function convert(tensor: Floats, dtype: Floats["dtype"]): Floats {
  if (tensor.dtype === dtype) return tensor;
  if (dtype === "float32") return widen(tensor);
  return { data: toHalf(tensor.data), shape: tensor.shape, dtype };
}

/** A result in the kind of array that the caller's input has: a Float16Array if that is one. */
export function asGiven({ half }: GivenFloats, { data, shape, dtype }: Floats): FloatResult {
  return { data: half && dtype === "float16" ? asHalves(data as Uint16Array) : data, shape, dtype } as FloatResult;
}

/** A new array for numbers of this type. */
export function emptyArray<D extends keyof typeof ARRAYS>(
  { operation }: CallArguments,
  name: string,
  dtype: D,
  length: number,
): InstanceType<(typeof ARRAYS)[D]> {
  try {
    return new ARRAYS[dtype](length) as InstanceType<(typeof ARRAYS)[D]>;
  } catch (cause) {
    throw new OutOfMemoryError(`${operation}: ${name} of ${length} numbers does not fit the memory of JavaScript`, {
      cause,
    });
  }
}
