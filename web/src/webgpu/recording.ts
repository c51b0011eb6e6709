import { Disposing } from "../call/disposable.js";
import type { Buffers } from "./buffers.js";
import { holdInstance, type GpuCore } from "./core.js";

/**
 * What the commands of a recorded call need beside its results. Nobody tells when the caller has submitted them, so it is
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

  /** A result that was added has been disposed. */
  ended(result: Disposing): void {
    this.#results.delete(result);
    if (this.#results.size === 0) this.#free();
  }

  /** Ends the results, too. */
  end(): void {
    for (const result of this.#results) result.dispose();
    this.#free();
  }

  #free(): void {
    for (const buffer of this.#scratch) this.#buffers.free(buffer);
    this.#scratch = [];
  }
}

/** What `encode` gives; it gets the results as its own properties. */
export class RecordedResults extends Disposing {
  readonly #recording: Recording;

  constructor(engine: GpuCore, recording: Recording) {
    super();
    this.#recording = recording;
    holdInstance(this, engine);
  }

  override dispose(): void {
    this.#recording.end();
  }
}
