import { placeOf } from "../../step/lifetimes.js";
import type { StepProblem } from "../../step/stepProblem.js";
import { BYTES, elementCount, type BufferTensor, type PlacedTensor } from "../../tensor/tensor.js";
import type { Call, Span } from "../call/call.js";
import type { Purpose } from "../device/buffers.js";
import type { GpuCore } from "../call/core.js";
import { checkBytes } from "../plan/limits.js";
import { shareBuffers } from "./sharedBuffers.js";

/** The buffers of a step: those of its arrays, and copies of the caller's numbers. */
export class StepBuffers {
  readonly #core: GpuCore;
  readonly #problem: StepProblem;
  readonly #arrays: readonly Span[];
  readonly #kept: GPUBuffer[] = [];

  constructor(call: Call, problem: StepProblem) {
    this.#core = call.core;
    this.#problem = problem;
    call.onFailure(() => this.release());
    const { bufferOf, bytes } = shareBuffers(problem);
    const spans = bytes.map((each) => this.keep(call, each));
    this.#arrays = bufferOf.map((n) => spans[n]!);
  }

  get bytes(): number {
    return this.#kept.reduce((sum, { size }) => sum + size, 0);
  }

  /** A buffer that lives as long as the step. */
  keep({ operation, core }: Call, bytes: number, purpose?: Purpose): Span {
    checkBytes(operation, "a tensor of the step", bytes, core.device.limits);
    const buffer = core.buffers.make(bytes, purpose);
    this.#kept.push(buffer);
    return { buffer, offset: 0, bytes: buffer.size };
  }

  /** A tensor of the step in its buffer, or a copy of one of the caller's. A tensor on the GPU stays where it is. */
  place<T extends PlacedTensor>(call: Call, tensor: T): T {
    if (tensor.gpu) return tensor;
    const n = placeOf(this.#problem.places, tensor);
    if (n >= 0) return onGpu(tensor, this.#arrays[n]!, tensor.address! - this.#problem.places[n]!.address);
    const copy = this.keep(call, tensor.data.byteLength);
    call.write(copy, 0, tensor.data);
    return onGpu(tensor, copy, 0);
  }

  /** A call that used the buffers has failed, perhaps because of a bind group. None of them is used again. */
  dropBindGroups(): void {
    for (const buffer of this.#kept) this.#core.bindGroups.drop(buffer);
  }

  release(): void {
    for (const buffer of this.#kept.splice(0)) this.#core.buffers.free(buffer);
  }
}

function onGpu<T extends PlacedTensor>({ shape, dtype }: T, { buffer }: Span, offset: number): T {
  const byteLength = elementCount("step", "tensor", shape) * BYTES[dtype];
  const gpu = { argument: "tensor", buffer, offset, byteLength, isOurs: true };
  return { gpu, shape, dtype } satisfies BufferTensor as unknown as T;
}
