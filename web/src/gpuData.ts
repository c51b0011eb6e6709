import { describe } from "./describe.js";
import { DisposedError, OptionError, ShapeError } from "./errors.js";
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
export function gpuDataOf({ data }: { readonly data: unknown }): GpuData | undefined {
  return typeof data === "object" && data !== null && BRAND in data ? (data as GpuData) : undefined;
}

/** Whether a value is meant as a tensor on the GPU. */
export function isGpuTensor(value: object): value is GpuTensor {
  return "buffer" in value && "shape" in value && !ArrayBuffer.isView(value);
}

const STORAGE = 0x80;

/** Checks a tensor on the GPU: form, dtype, life, usage and size of its buffer. */
export function checkGpuTensor<D extends Dtype>(
  operation: string,
  argument: string,
  value: GpuTensor,
  dtypes: readonly D[],
): CheckedTensor<D> {
  const refuse = (rule: string, got: unknown) =>
    new OptionError(`${operation}: ${argument}${rule}, got ${describe(got)}`);
  const { dtype, shape, offset = 0 } = value;
  const buffer = value.buffer as GPUBuffer;
  if ("disposed" in value && value.disposed === true) throw new DisposedError(`${operation}: ${argument} was disposed`);
  if (!(dtypes as readonly unknown[]).includes(dtype)) throw refuse(`.dtype must be ${dtypes.join(" or ")}`, dtype);
  if (typeof buffer !== "object" || typeof buffer.usage !== "number")
    throw refuse(".buffer must be a GPUBuffer", buffer);
  if ((buffer.usage & STORAGE) === 0) throw refuse(".buffer must have usage STORAGE", buffer.usage);
  if (!Number.isInteger(offset) || offset < 0 || offset % 4 !== 0)
    throw refuse(".offset must be a multiple of 4", offset);
  const byteLength = elementCount(operation, argument, shape) * BYTES[dtype];
  if (offset + byteLength > buffer.size)
    throw new ShapeError(
      `${operation}: ${argument} must fit its buffer, got ${byteLength} bytes at offset ${offset} of ${buffer.size}`,
    );
  const data = new GpuData(argument, buffer, offset, byteLength);
  return { data, shape: [...shape], dtype } as unknown as CheckedTensor<D>;
}
