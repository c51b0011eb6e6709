import { DisposedError, OptionError, ShapeError } from "../errors/errors.js";
import { describe, isObject, tagOf } from "../foreign/describe.js";
import { arrayKind } from "../foreign/typedArray.js";
import { BYTES, elementCount, type CheckedTensor, type Dtype } from "./tensor.js";

/**
 * A dense array in a GPU buffer of usage STORAGE. Inputs are read, never kept; what the call computes is in order with
 * everything else that is submitted to the device's queue.
 */
export interface GpuTensor<D extends Dtype = Dtype> {
  /** A GPUBuffer. */
  readonly buffer: object;
  /** Bytes before the first element, a multiple of 4. Default 0. */
  readonly offset?: number;
  readonly shape: readonly number[];
  readonly dtype: D;
}

/** Queries, keys or values in a GPU buffer, which the WebGPU engine reads. */
export type GpuFloats = GpuTensor<"float32" | "float16">;

/** Options whose tensors may lie on the GPU too. */
export type OnGpu<O> = {
  readonly [Name in keyof O]: Name extends "mask" | "bias" ? O[Name] | GpuTensor : O[Name];
};

/**
 * A tensor that a call left on the GPU. It holds its memory until `dispose()`, and its instance is not collected while it
 * is in use. On a device of the caller's its buffer outlives the instance, on one that headwise opened it goes with it.
 */
export interface GpuResult<D extends Dtype = Dtype> extends GpuTensor<D> {
  readonly offset: number;
  readonly disposed: boolean;
  /** Copies the numbers to the CPU. */
  data(): Promise<CheckedTensor<D>["data"]>;
  dispose(): void;
  [Symbol.dispose](): void;
}

// Registered, since the WebGPU engine is a file of its own with its own copy of this class.
const BRAND = Symbol.for("headwise.gpuData");

/** What stands for `data` in a checked tensor that lies on the GPU. */
export class GpuData {
  readonly [BRAND] = true;

  constructor(
    readonly argument: string,
    readonly buffer: GPUBuffer,
    readonly offset: number,
    readonly byteLength: number,
    /** Made by the engine itself: its owner needs no check. */
    readonly isOurs = false,
  ) {}
}

/** Where a checked tensor lies on the GPU; undefined for one of JavaScript. */
export function gpuDataOf(tensor: { readonly data: unknown } | undefined): GpuData | undefined {
  const data = tensor?.data;
  return isObject(data) && BRAND in data ? (data as GpuData) : undefined;
}

interface GpuFields {
  readonly data?: unknown;
  readonly buffer?: unknown;
  readonly shape?: unknown;
}

/** Whether the fields of a value are those of a tensor on the GPU; in other libraries `buffer` is a method, or the array. */
export function isGpuTensor({ data, buffer, shape }: GpuFields): boolean {
  return isObject(buffer) && !isArrayBuffer(buffer) && shape !== undefined && arrayKind(data) === undefined;
}

function isArrayBuffer(value: object): boolean {
  return ["ArrayBuffer", "SharedArrayBuffer"].includes(tagOf(value));
}

/** Checks a tensor on the GPU: dtype, extents, life, and what shows of its buffer. The engine asks the device the rest. */
export function checkGpuTensor<D extends Dtype>(
  operation: string,
  argument: string,
  value: GpuTensor,
  dtypes: readonly D[],
): CheckedTensor<D> {
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
  if (!Number.isInteger(offset) || offset < 0 || offset % 4 !== 0)
    throw refuse("offset must be a multiple of 4", describe(offset));
  if (offset + byteLength > size)
    throw new ShapeError(
      `${operation}: ${argument} must fit its buffer, got ${byteLength} bytes at offset ${offset} of ${size}`,
    );
  const data = new GpuData(argument, buffer as GPUBuffer, offset, byteLength);
  return { data, shape, dtype } as unknown as CheckedTensor<D>;
}

const STORAGE = 0x80;

/** What a GPUBuffer says of itself; nothing for what is none. */
function factsOf(buffer: object): { readonly usage?: number; readonly size?: number } {
  try {
    const { usage, size } = buffer as GPUBuffer;
    return Number.isInteger(usage) && Number.isInteger(size) ? { usage, size } : {};
  } catch {
    return {}; // its getters know a GPUBuffer from what stands for one
  }
}

/** Checks the first argument of `encode`, as far as it shows. What only looks like an encoder fails when it is used. */
export function checkEncoder(operation: string, value: unknown): object {
  if (isObject(value) && "beginComputePass" in value) return value;
  throw new OptionError(`${operation}: commandEncoder must be a GPUCommandEncoder, got ${describe(value)}`, {
    hint: "The `createCommandEncoder()` of the device that was given to createAttention makes one.",
  });
}
