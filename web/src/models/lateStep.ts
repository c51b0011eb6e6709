import { OutOfMemoryError } from "../base/errors.js";
import type { Attention } from "../instance/attention.js";
import type { Recorder } from "../step/recorder.js";
import type { Step, StepInputs, StepOutputs, StepResult } from "../step/step.js";

/** A step that its first run records. */
export class LateStep<O extends StepOutputs> {
  readonly #record: () => Promise<Step<O>>;
  #step: Step<O> | undefined;
  #isFull = false;

  constructor(hw: Attention, build: (recorder: Recorder) => Promise<O>) {
    this.#record = () => hw.record(build);
  }

  /** Bytes of the step, if it was recorded. */
  get bytes(): number | undefined {
    return this.#step?.bytes;
  }

  /** Runs it. undefined if the memory has no room for it, and from then on. */
  async run(inputs: StepInputs, signal: AbortSignal | undefined): Promise<StepResult<O> | undefined> {
    if (this.#isFull) return undefined;
    try {
      this.#step ??= await this.#record();
      return await this.#step.run(inputs, { signal });
    } catch (error) {
      if (!OutOfMemoryError.is(error)) throw error;
      this.#isFull = true;
      this.dispose();
      return undefined;
    }
  }

  /** Gives the memory of the step back. A later run records it again. */
  dispose(): void {
    this.#step?.dispose();
    this.#step = undefined;
  }
}
