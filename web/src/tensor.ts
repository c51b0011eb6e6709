import { arrayKind, describe, isObject } from "./describe.js";
import { checkGpuTensor, isGpuTensor } from "./gpuData.js";
import { OptionError, ShapeError, UnsupportedError } from "./errors.js";

/** Element types. `"bool"` is one byte an element, nonzero = true; `"float16"` may be held as raw bits. */
export type Dtype = "float32" | "float16" | "bool" | "int32";

/** The engine's own Float16Array, described by its shape so that older TypeScript libraries compile too. */
export interface HalfArray extends ArrayLike<number>, ArrayBufferView, Iterable<number> {
  readonly [Symbol.toStringTag]: "Float16Array";
  readonly BYTES_PER_ELEMENT: number;
}

export interface TensorDataOf {
  float32: Float32Array;
  float16: Uint16Array | HalfArray;
  bool: Uint8Array;
  int32: Int32Array;
}

export type TensorData = TensorDataOf[Dtype];

/**
 * A dense array in row-major order. Any object of this form is a tensor; `tensor()` checks one early.
 * Inputs are read, never kept and never detached; a tensor must not change until the call that reads it has settled.
 */
export interface Tensor<D extends Dtype = Dtype> {
  readonly data: TensorDataOf[D];
  /** Non-negative extents; their product is `data.length`. */
  readonly shape: readonly number[];
  /** Taken from `data` when absent. */
  readonly dtype?: D;
}

/** A tensor whose dtype is written out, as results are. */
export interface TypedTensor<D extends Dtype = Dtype> extends Tensor<D> {
  readonly dtype: D;
}

export const BYTES: Readonly<Record<Dtype, number>> = { float32: 4, float16: 2, bool: 1, int32: 4 };

/** What holds numbers of a dtype; of float16 the bits. */
export const ARRAYS = { float32: Float32Array, float16: Uint16Array, bool: Uint8Array, int32: Int32Array } as const;

const DTYPE_OF_ARRAY: Readonly<Record<string, Dtype>> = {
  Float32Array: "float32",
  Uint16Array: "float16",
  Float16Array: "float16",
  Uint8Array: "bool",
  Int32Array: "int32",
};

/** The same bits as a Float16Array, for callers whose engine has them and who use them. */
export function asHalves(bits: Uint16Array): HalfArray {
  const { Float16Array } = globalThis as unknown as { Float16Array: new (buffer: ArrayBufferLike) => HalfArray };
  return new Float16Array(bits.buffer);
}

/** Copies the bytes of an array into another one of the same size. */
export function copyBits(from: ArrayBufferView, to: ArrayBufferView): void {
  const bytes = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  bytes(to).set(bytes(from));
}

/** Extents beyond this do not fit the 32-bit row and key indices that results and errors use. */
const MAX_EXTENT = 2 ** 31 - 1;

/**
 * Checks and builds a tensor. The array is referred to, not copied.
 *
 * @param data - Float32Array, Uint16Array or Float16Array (float16), Uint8Array (bool) or Int32Array, row-major.
 * @param shape - Extents whose product is `data.length`; `[]` is a scalar.
 * @throws ShapeError if the extents are not non-negative integers or do not fit `data`.
 * @throws OptionError if `data` is none of the arrays above.
 */
export function tensor(data: Float32Array, shape: readonly number[]): TypedTensor<"float32">;
export function tensor(data: Uint16Array | HalfArray, shape: readonly number[]): TypedTensor<"float16">;
export function tensor(data: Uint8Array, shape: readonly number[]): TypedTensor<"bool">;
export function tensor(data: Int32Array, shape: readonly number[]): TypedTensor<"int32">;
export function tensor(data: TensorData, shape: readonly number[]): TypedTensor {
  const { dtype } = checkTensor("tensor", "tensor", { data, shape });
  return { data, shape: [...shape], dtype };
}

/** A checked tensor of some of the dtypes: what the engines work with. */
export type CheckedTensor<D extends Dtype = Dtype> = { readonly [K in D]: TypedTensor<K> }[D];

/**
 * Checks that `value` is a tensor of one of `dtypes` (default: any); returns it with its dtype, its data not copied.
 *
 * @param onGpu - Whether it may lie on the GPU; see `gpuDataOf`.
 */
export function checkTensor<D extends Dtype = Dtype>(
  operation: string,
  argument: string,
  value: unknown,
  dtypes: readonly D[] = Object.keys(BYTES) as D[],
  onGpu = false,
): CheckedTensor<D> {
  const given = isObject(value) ? value : {};
  if (isGpuTensor(given)) {
    if (onGpu) return checkGpuTensor(operation, argument, given, dtypes);
    throw new UnsupportedError(
      `${operation}: ${argument} is a GPU tensor, which this engine or operation cannot read`,
      {
        hint: "Read the buffer back. With WebGPU, scaledDotProductAttention and encode read GPU tensors.",
      },
    );
  }
  if (!("shape" in given && "data" in given))
    throw new OptionError(`${operation}: ${argument} must be a tensor { data, shape }, got ${describe(value)}`, {
      hint: "tensor(new Float32Array(values), shape) makes one.",
    });
  const { data, shape } = given;
  if (typeof data === "function")
    throw new OptionError(
      `${operation}: ${argument}.data must be an array of numbers, got a method: this is another library's tensor`,
      { hint: "Of TensorFlow.js's Tensor t give { data: await t.data(), shape: t.shape }." },
    );
  const dtype = dtypeOf(operation, argument, data, (given as { dtype?: unknown }).dtype);
  if (!(dtypes as readonly Dtype[]).includes(dtype))
    throw new OptionError(`${operation}: ${argument} must be of dtype ${dtypes.join(" or ")}, got ${dtype}`);
  const size = elementCount(operation, argument, shape);
  const { length } = data as ArrayLike<unknown>;
  if (size !== length)
    throw new ShapeError(
      `${operation}: ${argument}.data.length must be the product of shape ${describe(shape)}, got ${length} and ${size}`,
    );
  return { data, shape: [...(shape as number[])], dtype } as unknown as CheckedTensor<D>;
}

function dtypeOf(operation: string, argument: string, data: unknown, stated: unknown): Dtype {
  const kind = arrayKind(data);
  const dtype = DTYPE_OF_ARRAY[kind ?? ""];
  if (!dtype)
    throw new OptionError(
      `${operation}: ${argument}.data must be a ${Object.keys(DTYPE_OF_ARRAY).join(" or ")}, got ${describe(data)}`,
    );
  if (stated !== undefined && stated !== dtype)
    throw new OptionError(
      `${operation}: ${argument}.dtype must be "${dtype}", which its data (${kind}) holds, got ${describe(stated)}`,
    );
  return dtype;
}

/** The product of the extents, each checked to be an integer that an index can reach. */
export function elementCount(operation: string, argument: string, shape: unknown): number {
  if (!Array.isArray(shape))
    throw new ShapeError(`${operation}: ${argument}.shape must be an array of integers, got ${describe(shape)}`);
  let count = 1;
  shape.forEach((extent: unknown, axis) => {
    if (!Number.isInteger(extent) || (extent as number) < 0 || (extent as number) > MAX_EXTENT)
      throw new ShapeError(
        `${operation}: ${argument}.shape[${axis}] must be an integer from 0 to ${MAX_EXTENT}, got ${describe(extent)}`,
      );
    count *= extent as number;
  });
  if (!Number.isSafeInteger(count))
    throw new ShapeError(`${operation}: ${argument}.shape ${describe(shape)} has more elements than can be counted`);
  return count;
}
