import { describe } from "../base/describe.js";
import { ShapeError, UnsupportedError } from "../base/errors.js";
import { product } from "./product.js";

/**
 * Element types. `"bool"` is one byte for each element, nonzero = true. `"float16"` is a Float16Array, or a Uint16Array
 * of its 16-bit patterns. `"bfloat16"` is a weight: a Uint16Array of 16-bit patterns, which are the upper halves of float32.
 * Such a tensor must state its dtype. `"int8"` is a weight of `linear`, which also has scales.
 */
export type Dtype = "float32" | "float16" | "bfloat16" | "int8" | "bool" | "int32";

/** JavaScript's Float16Array. It is declared here, so that TypeScript libraries that lack it compile too. */
export interface HalfArray extends ArrayLike<number>, ArrayBufferView, Iterable<number> {
  readonly [Symbol.toStringTag]: "Float16Array";
  readonly BYTES_PER_ELEMENT: number;
}

/** The arrays that a tensor of each dtype may have as `data`. */
export interface TensorDataOf {
  float32: Float32Array;
  float16: Uint16Array | HalfArray;
  bfloat16: Uint16Array;
  int8: Int8Array;
  bool: Uint8Array;
  int32: Int32Array;
}

/** The `data` of a tensor of any dtype. */
export type TensorData = TensorDataOf[Dtype];

/**
 * A dense array in row-major order. Any object of this form is a tensor; `tensor()` makes and checks one.
 *
 * Calls read their inputs; they do not keep, change or detach them. A call reads shapes when it is made, and numbers
 * when it runs. Do not change an input before the call has settled.
 */
export interface Tensor<D extends Dtype = Dtype> {
  readonly data: TensorDataOf[D];
  /** Non-negative integers. Their product is `data.length`. */
  readonly shape: readonly number[];
  /** Default: the dtype of the class of `data`; for a Uint16Array that is float16. */
  readonly dtype?: D | undefined;
}

/** A tensor that states its dtype. Results are such tensors. */
export interface TypedTensor<D extends Dtype = Dtype> extends Tensor<D> {
  readonly dtype: D;
}

/** Nested arrays, such as `[[1, 0], [0, 1]]`. */
export type Nested<T> = readonly (T | Nested<T>)[];

/**
 * A tensor as an argument: a tensor of headwise; a tensor of ONNX Runtime or transformers.js, whose shape is named
 * `dims`; or plain or nested arrays with at most 65,536 numbers. Plain numbers become float32.
 */
export type TensorLike<D extends Dtype = Dtype> =
  | Tensor<D>
  | { readonly data: TensorDataOf[D] | readonly number[]; readonly dims: readonly number[] }
  | { readonly data: readonly number[]; readonly shape: readonly number[] }
  | Nested<number>;

/**
 * A mask as an argument: bool, or the integers 1 (may attend) and 0 (hidden), as tokenizers give them. null means no
 * mask.
 */
export type MaskLike =
  | Tensor<"bool">
  | { readonly data: MaskData; readonly shape: readonly number[] }
  | { readonly data: MaskData; readonly dims: readonly number[] }
  | Nested<boolean | number>
  | null;

type MaskData = Uint8Array | Int32Array | BigInt64Array | readonly (boolean | number)[];

export const BYTES: Readonly<Record<Dtype, number>> = {
  float32: 4,
  float16: 2,
  bfloat16: 2,
  int8: 1,
  bool: 1,
  int32: 4,
};

/** The names of all dtypes. */
export const DTYPES = Object.keys(BYTES) as readonly Dtype[];

/** The class of arrays that holds each dtype. For float16 and bfloat16 it holds the 16-bit patterns. */
export const ARRAYS = {
  float32: Float32Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int8: Int8Array,
  bool: Uint8Array,
  int32: Int32Array,
} as const;

/** The dtype of each class of arrays, if the tensor does not state that a Uint16Array holds bfloat16. */
export const DTYPE_OF_ARRAY: Readonly<Record<string, Dtype>> = {
  Float32Array: "float32",
  Uint16Array: "float16",
  Float16Array: "float16",
  Int8Array: "int8",
  Uint8Array: "bool",
  Int32Array: "int32",
};

/** The same bits as a Float16Array. Call it only if the engine has that class. */
export function asHalves(bits: Uint16Array): HalfArray {
  const { Float16Array } = globalThis as unknown as { Float16Array: new (buffer: ArrayBufferLike) => HalfArray };
  return new Float16Array(bits.buffer);
}

/** Copies the bytes of an array into another one of the same size. */
export function copyBits(from: ArrayBufferView, to: ArrayBufferView): void {
  const bytes = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  bytes(to).set(bytes(from));
}

/** The largest rank of a tensor. */
export const MAX_RANK = 32;

/** The largest extent. Results and errors hold row and key indices in 32 bits. */
export const MAX_EXTENT = 2 ** 31 - 1;

/**
 * A checked tensor in JavaScript memory, or in the engine's memory (`address`). Its data is our own view on that memory
 * (float16 as 16-bit patterns), and its shape is our own array.
 */
export type CheckedTensor<D extends Dtype = Dtype> = { readonly [K in D]: TypedTensor<K> & Given }[D];

export interface Given {
  /** Whether the data is a copy, because the numbers were in a plain array or in an array of another class. */
  readonly isCopy?: boolean;
  /** Whether the caller holds float16 in a Float16Array. */
  readonly half?: boolean;
  /** The address in the engine's memory, if the tensor lies there. */
  readonly address?: number | undefined;
  readonly gpu?: undefined;
}

/** A range of a GPU buffer that holds a checked tensor. */
export interface GpuData {
  /** The name of the argument, for messages. */
  readonly argument: string;
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly byteLength: number;
  /** Whether it lies inside the engine's own memory on the GPU. Then nothing of it needs a check. */
  readonly isOurs: boolean;
}

/** A checked tensor in a GPU buffer. */
export interface BufferTensor<D extends Dtype = Dtype> {
  readonly gpu: GpuData;
  readonly shape: readonly number[];
  readonly dtype: D;
  readonly data?: undefined;
  readonly isCopy?: undefined;
  readonly half?: undefined;
  readonly address?: undefined;
}

/** A checked tensor, wherever it lies: in an array, in the engine's memory (`address`) or in a GPU buffer (`gpu`). */
export type PlacedTensor<D extends Dtype = Dtype> = { readonly [K in D]: CheckedTensor<K> | BufferTensor<K> }[D];

/**
 * The tensor, for an engine without a GPU.
 *
 * @throws UnsupportedError if it lies on the GPU.
 */
export function inMemory<D extends Dtype>(tensor: CheckedTensor<D> | BufferTensor<D>): CheckedTensor<D> {
  if (!tensor.gpu) return tensor;
  throw new UnsupportedError(`${tensor.gpu.argument} is a GPU tensor, which WebAssembly cannot read`);
}

/**
 * The product of the extents.
 *
 * @throws ShapeError if the product is above 2⁵³ − 1.
 */
export function elementCount(operation: string, argument: string, shape: readonly number[]): number {
  const count = product(shape);
  if (!Number.isSafeInteger(count))
    throw new ShapeError(`${operation}: ${argument}.shape ${describe(shape)} has more elements than can be counted`);
  return count;
}

/** The dtypes of queries, keys, values and outputs. */
export const FLOATS = ["float32", "float16"] as const;

/** A tensor of queries, keys, values or outputs. */
export type FloatTensor = Tensor<"float32" | "float16">;

/** An argument for queries, keys or values. */
export type FloatTensorLike = TensorLike<"float32" | "float16">;

/** A checked tensor of queries, keys, values or outputs. */
export type CheckedFloats = CheckedTensor<"float32" | "float16">;

/** The same, wherever it lies. */
export type PlacedFloats = PlacedTensor<"float32" | "float16">;

/** The dtypes of weights that are not int8, and of biases. */
export const WEIGHT_FLOATS = ["float32", "float16", "bfloat16"] as const;

export type WeightFloat = (typeof WEIGHT_FLOATS)[number];

/** An argument for weights that are not int8, and for biases. */
export type FloatWeightLike = FloatTensorLike | TypedTensor<"bfloat16">;

/** A checked tensor of weights or biases, in JavaScript memory or in the engine's. */
export type CheckedWeights = CheckedTensor<WeightFloat>;

/** The same, wherever it lies. */
export type PlacedWeights = PlacedTensor<WeightFloat>;
