import { Disposing } from "../call/disposable.js";
import type { Buffers } from "./buffers.js";
import { holdInstance, type GpuCore } from "./core.js";

/**
 * The scratch buffers of a recorded call. We cannot know when the caller has submitted the commands. So the buffers are
 * kept until all results are disposed, or the instance is.
 */
export class Recording {
  readonly #buffers: Buffers;
  readonly #results = new Set<Disposing>();
  #scratch: readonly GPUBuffer[] = [];

  constructor({ buffers }: GpuCore) {
    this.#buffers = buffers;
  }

  hold(scratch: readonly GPUBuffer[]): void {
    this.#scratch = scratch;
  }

  add(result: Disposing): void {
    this.#results.add(result);
  }

  /** Called when one of the results was disposed. */
  ended(result: Disposing): void {
    this.#results.delete(result);
    if (this.#results.size === 0) this.#free();
  }

  /** Disposes the results too. */
  end(): void {
    for (const result of this.#results) result.dispose();
    this.#free();
  }

  #free(): void {
    for (const buffer of this.#scratch) this.#buffers.free(buffer);
    this.#scratch = [];
  }
}

/** What `encode` returns. The results become its properties. */
export class RecordedResults extends Disposing {
  readonly #recording: Recording;

  constructor(core: GpuCore, recording: Recording) {
    super();
    this.#recording = recording;
    holdInstance(this, core);
  }

  override dispose(): void {
    this.#recording.end();
  }
}
