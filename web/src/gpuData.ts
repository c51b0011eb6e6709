import { describe, isObject } from "./describe.js";
import { DisposedError, OptionError } from "./errors.js";
import { arrayKind } from "./typedArray.js";
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

/** A tensor that a call left on the GPU. It holds its memory until `dispose()`. */
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

/** Whether the fields of a value are those of a tensor on the GPU. */
export function isGpuTensor(fields: { readonly data?: unknown; readonly buffer?: unknown; readonly shape?: unknown }) {
  return fields.buffer !== undefined && fields.shape !== undefined && arrayKind(fields.data) === undefined;
}

/** Checks a tensor on the GPU: dtype, extents and life. Its buffer is checked by the engine that reads it. */
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
  const data = new GpuData(argument, buffer as GPUBuffer, offset, byteLength);
  return { data, shape: [...shape], dtype } as unknown as CheckedTensor<D>;
}
