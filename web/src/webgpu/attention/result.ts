import type { AttentionProblem } from "../../attention/attentionProblem.js";
import type { ResultTensor } from "../../attention/attentionResult.js";
import { DisposedError } from "../../base/errors.js";
import type { GpuResult } from "../../tensor/gpuTensor.js";
import { BYTES, elementCount, type CheckedTensor, type Dtype } from "../../tensor/tensor.js";
import { Disposing } from "../../turn/disposable.js";
import { asArray, type Call, type Deliver, type Span } from "../call/call.js";
import { afterCalls, holdInstance, type GpuCore } from "../call/core.js";
import type { Recording } from "../call/recording.js";
import { runCall } from "../call/runCall.js";

/** A result that stays on the GPU, in a buffer of its own. The buffer belongs to the caller until `dispose()`. */
class KeptTensor<D extends Dtype> extends Disposing implements GpuResult<D> {
  readonly buffer: GPUBuffer;
  readonly offset = 0;
  readonly shape: readonly number[];
  readonly dtype: D;
  readonly #core: GpuCore;
  readonly #recording: Recording | undefined;
  #disposed = false;
  /** How many `data()` have not settled. */
  #reads = 0;

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
    this.#reads += 1;
    try {
      return await this.#read();
    } finally {
      this.#reads -= 1;
      if (this.#disposed && this.#reads === 0) this.#giveBack();
    }
  }

  /**
   * Gives the buffer back, to be used for later results. Commands that were submitted before still use it safely. A
   * second `dispose()` does nothing.
   */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    if (this.#reads === 0) this.#giveBack();
  }

  #read(): Promise<CheckedTensor<D>["data"]> {
    const bytes = elementCount("data", "tensor", this.shape) * BYTES[this.dtype];
    return runCall(this.#core, "data", (call) => {
      const source = { argument: "tensor", buffer: this.buffer, offset: 0, byteLength: bytes, isOurs: false };
      const read = call.read(call.source(source), bytes);
      return (mapped) => asArray(this.dtype, read(mapped));
    });
  }

  /** Waiting calls may still read the buffer. */
  #giveBack(): void {
    afterCalls(this.#core, () => {
      this.#core.buffers.giveBack(this.buffer);
      this.#recording?.ended(this);
    });
  }
}

/** Makes the tensor of a result that lies in room from `resultRoom`. */
export function keepOnGpu<D extends Dtype>(
  call: Call,
  { buffer }: Span,
  shape: readonly number[],
  dtype: D,
): GpuResult<D> {
  return new KeptTensor(call, buffer, [...shape], dtype);
}

/** Gives a result to the caller: read back, or on the GPU where it lies in room from `resultRoom`. */
export function hand<D extends "float32" | "int32">(
  call: Call,
  span: Span,
  shape: readonly number[],
  dtype: D,
  location: "cpu" | "gpu",
): Deliver<ResultTensor<D>> {
  if (location === "gpu") {
    const kept = keepOnGpu(call, span, shape, dtype);
    return () => kept;
  }
  const read = call.read(span);
  return (mapped) => ({ data: asArray(dtype, read(mapped)), shape: [...shape], dtype });
}

/** Gives a result [B, H, …] to the caller. */
export function handInRank<D extends "float32" | "int32">(
  call: Call,
  { location, keepRank }: Pick<AttentionProblem, "location" | "keepRank">,
  span: Span,
  full: readonly number[],
  dtype: D,
): Deliver<ResultTensor<D>> {
  return hand(call, span, keepRank(full), dtype, location);
}
