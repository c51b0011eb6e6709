import { Disposing } from "../../turn/disposable.js";
import { holdInstance, type GpuCore } from "./core.js";

/**
 * The scratch buffers of a recorded call. We cannot know when the caller has submitted the commands. So the buffers are
 * kept until all results are disposed, or the instance is. Then the pool gets them.
 */
export class Recording {
  readonly #core: GpuCore;
  readonly #results = new Set<Disposing>();
  #scratch: readonly GPUBuffer[] = [];
  #releases: readonly (() => void)[] = [];

  constructor(core: GpuCore) {
    this.#core = core;
  }

  hold(scratch: readonly GPUBuffer[], releases: readonly (() => void)[]): void {
    this.#scratch = scratch;
    this.#releases = releases;
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
    for (const buffer of this.#scratch) this.#core.buffers.giveBack(buffer);
    for (const release of this.#releases) release();
    this.#scratch = this.#releases = [];
  }
}

/** What a recorded call returns. Its results become properties. */
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
