import { describe, isObject, tagOf } from "../base/describe.js";
import { DisposedError, OptionError, ShapeError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { arrayKind } from "../base/typedArray.js";
import { BYTES, elementCount, type BufferTensor, type CheckedTensor, type Dtype } from "./tensor.js";

/**
 * A dense row-major array in a GPU buffer that has usage STORAGE. A call reads its inputs and does not keep them. Its
 * commands are ordered with all others that are submitted to the queue of the device.
 */
export interface GpuTensor<D extends Dtype = Dtype> {
  /** A GPUBuffer of the device of the instance. */
  readonly buffer: object;
  /** Bytes before the first element; a multiple of 4. Default 0. */
  readonly offset?: number | undefined;
  readonly shape: readonly number[];
  readonly dtype: D;
}

/** Queries, keys or values in a GPU buffer. Only the WebGPU engine reads them. */
export type GpuFloats = GpuTensor<"float32" | "float16">;

/** A weight that is not int8, or a bias, in a GPU buffer. */
export type GpuFloatWeight = GpuTensor<"float32" | "float16" | "bfloat16">;

/** The options O, in which mask and bias may also lie on the GPU. */
export type OnGpu<O> = {
  readonly [Name in keyof O]: Name extends "mask" | "bias" ? O[Name] | GpuTensor : O[Name];
};

/**
 * A result on the GPU. It holds its memory until `dispose()`, and it keeps its instance alive. If the caller gave the
 * device, the buffer stays valid after the instance is disposed. If headwise opened the device, disposing the instance
 * destroys the buffer.
 */
export interface GpuResult<D extends Dtype = Dtype> extends GpuTensor<D> {
  readonly offset: number;
  /** Whether it was disposed. */
  readonly disposed: boolean;
  /** Copies the numbers to the CPU. */
  data(): Promise<CheckedTensor<D>["data"]>;
  /** Frees the memory. A second call does nothing. */
  dispose(): void;
  [Symbol.dispose](): void;
}

interface GpuFields {
  readonly data?: unknown;
  readonly buffer?: unknown;
  readonly shape?: unknown;
}

/**
 * Whether these fields belong to a GPU tensor. In tensors of other libraries `buffer` may be a method or an
 * ArrayBuffer.
 */
export function isGpuTensor({ data, buffer, shape }: GpuFields): boolean {
  return isObject(buffer) && !isArrayBuffer(buffer) && shape !== undefined && arrayKind(data) === undefined;
}

function isArrayBuffer(value: object): boolean {
  return ["ArrayBuffer", "SharedArrayBuffer"].includes(tagOf(value));
}

/**
 * Checks a GPU tensor: dtype, extents, whether it was disposed, usage and size of the buffer. The engine checks the
 * rest on the device.
 *
 * @throws DisposedError, OptionError or ShapeError.
 */
export function checkGpuTensor<D extends Dtype>(
  operation: string,
  argument: string,
  value: GpuTensor,
  dtypes: readonly D[],
): BufferTensor<D> {
  const { dtype, shape, offset = 0, buffer } = value;
  if ((value as Partial<GpuResult>).disposed) throw new DisposedError(`${operation}: ${argument} was disposed`);
  if (!(dtypes as readonly unknown[]).includes(dtype))
    throw new OptionError(`${operation}: ${argument}.dtype must be ${dtypes.join(" or ")}, got ${describe(dtype)}`);
  const byteLength = elementCount(operation, argument, shape) * BYTES[dtype];
  const { usage, size } = factsOf(buffer);
  const refuse = (rule: string, got: string) => new OptionError(`${operation}: ${argument}.${rule}, got ${got}`);
  if (usage === undefined || size === undefined) {
    const got = describe(buffer);
    throw refuse("buffer must be a GPUBuffer", got === "a GPUBuffer" ? "a proxy of one" : got);
  }
  if ((usage & STORAGE) === 0) throw refuse("buffer must have usage STORAGE", describe(usage));
  if (size % 4 !== 0) throw refuse("buffer.size must be a multiple of 4", describe(size)); // kernels bind whole words
  if (!Number.isInteger(offset) || offset < 0 || offset % 4 !== 0)
    throw refuse("offset must be a multiple of 4", describe(offset));
  if (offset + byteLength > size)
    throw new ShapeError(
      `${operation}: ${argument} must fit its buffer, got ${byteLength} bytes at offset ${offset} of ${size}`,
    );
  const gpu = { argument, buffer: buffer as GPUBuffer, offset, byteLength, isOurs: false };
  return { gpu, shape, dtype: dtype as D };
}

const STORAGE = 0x80;

/** Usage and size of a GPUBuffer; empty if the object is not one. */
function factsOf(buffer: object): { readonly usage?: number; readonly size?: number } {
  try {
    const { usage, size } = buffer as GPUBuffer;
    return Number.isInteger(usage) && Number.isInteger(size) ? { usage, size } : {};
  } catch {
    return {}; // the getters throw if the object is not a real GPUBuffer
  }
}

/**
 * Checks the first argument of `encode` by its form. An object that only looks like an encoder fails when it is used.
 */
export function checkEncoder(operation: string, value: unknown): object {
  const isEncoder = guarded(operation, "encoder", () => isObject(value) && "beginComputePass" in value);
  if (isEncoder) return value as object;
  throw new OptionError(`${operation}: encoder must be a GPUCommandEncoder, got ${describe(value)}`, {
    hint: "`hw.gpu.device.createCommandEncoder()` makes one.",
  });
}
