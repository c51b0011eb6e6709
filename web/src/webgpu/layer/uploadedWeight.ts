import { DeviceLostError, DisposedError } from "../../base/errors.js";
import type { EngineWeight } from "../../linear/uploadedWeight.js";
import type { GpuData } from "../../tensor/tensor.js";
import type { Call, Span } from "../call/call.js";
import type { GpuCore } from "../call/core.js";
import { insideTensor } from "../call/span.js";
import type { Matrix } from "./projection.js";

/** A weight that stays on the GPU as a matrix, in buffers of its own. Its biases are zero. */
export class GpuWeight implements EngineWeight {
  readonly gpu: GpuData;
  readonly #core: GpuCore;
  readonly #matrix: Matrix;
  readonly #buffers: GPUBuffer[] = [];

  /** @param place - Makes the matrix in the buffers that it is given. */
  constructor(call: Call, place: (keep: (bytes: number) => Span) => Matrix) {
    this.#core = call.core;
    call.onFailure(() => this.release());
    this.#matrix = place((bytes) => {
      const buffer = call.core.buffers.make(bytes);
      this.#buffers.push(buffer);
      return { buffer, offset: 0, bytes: buffer.size };
    });
    this.gpu = insideTensor("weight", this.#matrix.weight).gpu!;
  }

  get bytes(): number {
    return this.#buffers.reduce((sum, { size }) => sum + size, 0);
  }

  /** The matrix, for a call. */
  in({ core, operation }: Call): Matrix {
    if (this.#buffers.length === 0) throw new DisposedError(`${operation}: weight was disposed`);
    if (core.device.gpuDevice !== this.#core.device.gpuDevice)
      throw new DeviceLostError(`${operation}: weight was lost with its GPU device`, {
        hint: "Call uploadWeight again.",
      });
    return this.#matrix;
  }

  release(): void {
    for (const buffer of this.#buffers.splice(0)) this.#core.buffers.free(buffer);
  }
}
