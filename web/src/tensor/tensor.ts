import { ShapeError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";

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
 * Inputs are read, never kept and never detached. Shapes are read when the call is made, the numbers when its turn comes:
 * leave them as they are until the call has settled.
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

/** Numbers in arrays in arrays, such as `[[1, 0], [0, 1]]`. */
export type Nested<T> = readonly (T | Nested<T>)[];

/**
 * What every argument that is a tensor may be: a tensor; one of ONNX Runtime or transformers.js, whose shape is called
 * dims; and where there are at most 65,536 numbers, plain arrays, also nested ones. Plain numbers become float32.
 */
export type TensorLike<D extends Dtype = Dtype> =
  | Tensor<D>
  | { readonly data: TensorDataOf[D] | readonly number[]; readonly dims: readonly number[] }
  | { readonly data: readonly number[]; readonly shape: readonly number[] }
  | Nested<number>;

/** A mask may also be of integers 1 (may attend) and 0 (hidden), as tokenizers give them; null is no mask. */
export type MaskLike =
  | Tensor<"bool">
  | { readonly data: MaskData; readonly shape: readonly number[] }
  | { readonly data: MaskData; readonly dims: readonly number[] }
  | Nested<boolean | number>
  | null;

type MaskData = Uint8Array | Int32Array | BigInt64Array | readonly (boolean | number)[];

export const BYTES: Readonly<Record<Dtype, number>> = { float32: 4, float16: 2, bool: 1, int32: 4 };

/** What holds numbers of a dtype; of float16 the bits. */
export const ARRAYS = { float32: Float32Array, float16: Uint16Array, bool: Uint8Array, int32: Int32Array } as const;

/** What the numbers of an array are, by the array's class. */
export const DTYPE_OF_ARRAY: Readonly<Record<string, Dtype>> = {
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

/** No tensor has more axes. */
export const MAX_RANK = 32;

/** Extents beyond this do not fit the 32-bit row and key indices that results and errors use. */
export const MAX_EXTENT = 2 ** 31 - 1;

/**
 * A checked tensor of some of the dtypes: what the engines work with. Its data is a view of our own on the caller's
 * memory (of float16 the bits), its shape an array of our own.
 */
export type CheckedTensor<D extends Dtype = Dtype> = { readonly [K in D]: TypedTensor<K> & Given }[D];

interface Given {
  /** The numbers were in a plain array or in an array of another class: these are a copy. */
  readonly isCopy?: boolean;
  /** float16 that the caller holds in a Float16Array. */
  readonly half?: boolean;
  /** Where it lies in the engine's memory, if it does. */
  readonly address?: number | undefined;
}

/** The product of the extents, checked to be a number that can be counted to. */
export function elementCount(operation: string, argument: string, shape: readonly number[]): number {
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (!Number.isSafeInteger(count))
    throw new ShapeError(`${operation}: ${argument}.shape ${describe(shape)} has more elements than can be counted`);
  return count;
}

/** The dtypes of queries, keys, values and outputs. */
export const FLOATS = ["float32", "float16"] as const;

/** Tensors that hold queries, keys, values and outputs. */
export type FloatTensor = Tensor<"float32" | "float16">;

/** What an argument that holds queries, keys or values may be. */
export type FloatTensorLike = TensorLike<"float32" | "float16">;

/** Where the numbers of a call are, checked: `float32`, or `float16` storage. */
export type CheckedFloats = CheckedTensor<"float32" | "float16">;
