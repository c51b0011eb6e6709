import { elementCount, BYTES, type CheckedTensor, type Dtype } from "../tensor.js";
import { Disposing } from "../disposable.js";
import { DisposedError } from "../errors.js";
import type { GpuResult } from "../gpuData.js";
import { asArray, runCall, type Call, type Span } from "./call.js";
import type { Engine } from "./engine.js";

/** A result that stays on the GPU, in a buffer of its own. */
class ResultTensor<D extends "float32" | "float16" | "int32"> extends Disposing implements GpuResult<D> {
  readonly buffer: GPUBuffer;
  readonly offset = 0;
  readonly shape: readonly number[];
  readonly dtype: D;
  readonly #engine: Engine;
  #disposed = false;

  constructor(engine: Engine, buffer: GPUBuffer, shape: readonly number[], dtype: D) {
    super();
    this.#engine = engine;
    this.buffer = buffer;
    this.shape = shape;
    this.dtype = dtype;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  async data(): Promise<CheckedTensor<D>["data"]> {
    if (this.#disposed) throw new DisposedError("data: the tensor was disposed");
    const bytes = elementCount("data", "tensor", this.shape) * BYTES[this.dtype];
    const span = { buffer: this.buffer, offset: 0, bytes: Math.ceil(bytes / 4) * 4 };
    return runCall(this.#engine, "data", (call) => {
      const read = call.read(span);
      return (result) => asArray(this.dtype, read(result).slice(0, bytes));
    });
  }

  /** Gives the memory back. Commands that were submitted before still find it. A second call does nothing. */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.buffer.destroy();
  }
}

/** Turns room that the call took into a result of its own. */
export function keepOnGpu<D extends Dtype & ("float32" | "float16" | "int32")>(
  call: Call,
  span: Span,
  shape: readonly number[],
  dtype: D,
): GpuResult<D> {
  call.keep(span);
  return new ResultTensor(call.engine, span.buffer, [...shape], dtype);
}
