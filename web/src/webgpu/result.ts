import { Disposing } from "../call/disposable.js";
import { DisposedError } from "../errors/errors.js";
import type { GpuResult } from "../tensor/gpuTensor.js";
import { BYTES, elementCount, type CheckedTensor, type Dtype } from "../tensor/tensor.js";
import { asArray, runCall, type Call, type Span } from "./call.js";
import { holdInstance, type GpuCore } from "./core.js";
import type { Recording } from "./recording.js";

/** A result that stays on the GPU, in a buffer of its own. The buffer belongs to the caller. */
class ResultTensor<D extends Dtype> extends Disposing implements GpuResult<D> {
  readonly buffer: GPUBuffer;
  readonly offset = 0;
  readonly shape: readonly number[];
  readonly dtype: D;
  readonly #core: GpuCore;
  readonly #recording: Recording | undefined;
  #disposed = false;

  constructor({ core, recording }: Call, buffer: GPUBuffer, shape: readonly number[], dtype: D) {
    super();
    this.#core = core;
    this.#recording = recording;
    this.buffer = buffer;
    this.shape = shape;
    this.dtype = dtype;
    recording?.add(this);
    holdInstance(this, core);
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  async data(): Promise<CheckedTensor<D>["data"]> {
    if (this.#disposed) throw new DisposedError("data: the tensor was disposed");
    const bytes = elementCount("data", "tensor", this.shape) * BYTES[this.dtype];
    const span = { buffer: this.buffer, offset: 0, bytes: Math.ceil(bytes / 4) * 4 };
    return runCall(this.#core, "data", (call) => {
      const read = call.read(span);
      return (result) => asArray(this.dtype, read(result).slice(0, bytes));
    });
  }

  /**
   * Destroys the buffer. Commands that were submitted before still use it safely. A second `dispose()` does nothing.
   */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.buffer.destroy();
    this.#recording?.ended(this);
  }
}

/** Makes the tensor of a result that lies in room from `resultRoom`. */
export function keepOnGpu<D extends Dtype>(
  call: Call,
  { buffer }: Span,
  shape: readonly number[],
  dtype: D,
): GpuResult<D> {
  return new ResultTensor(call, buffer, [...shape], dtype);
}
