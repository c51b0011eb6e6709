import type { HeadwiseError } from "../../base/errors.js";

/** How a submitted call ended on the GPU. */
export interface Outcome {
  /** Settles when the GPU has told it. It never rejects. */
  readonly known: Promise<unknown>;
  /** The call's error, which names its operation. undefined: it succeeded, or nothing is known yet. */
  readonly error: HeadwiseError | undefined;
}

/**
 * The errors of calls that did not wait for the GPU. They surface at the next call of the instance, or where a result of
 * the call is read.
 */
export class Faults {
  readonly #outcomeOf = new WeakMap<GPUBuffer, Outcome>();
  readonly #pending = new Set<Outcome>();
  /** The errors that nobody has seen, and those that somebody has. */
  readonly #unseen = new Set<HeadwiseError>();
  readonly #seen = new WeakSet<HeadwiseError>();

  /**
   * Follows a call that was submitted.
   *
   * @param end - Settles when the GPU is done; resolves to the call's error.
   * @param written - The buffers of its results.
   */
  follow(end: Promise<HeadwiseError | undefined>, written: readonly GPUBuffer[]): void {
    const outcome: { known: Promise<unknown>; error: HeadwiseError | undefined } = { known: end, error: undefined };
    outcome.known = end.then((error) => {
      outcome.error = error;
      this.#pending.delete(outcome);
      if (error && !this.#seen.has(error)) this.#unseen.add(error);
      if (!error) for (const buffer of written) this.#forget(buffer, outcome);
    });
    this.#pending.add(outcome);
    for (const buffer of written) this.#outcomeOf.set(buffer, outcome);
  }

  /** How the call ended that wrote this buffer; undefined if it succeeded. */
  outcomeOf(buffer: GPUBuffer): Outcome | undefined {
    return this.#outcomeOf.get(buffer);
  }

  /** The buffer gets a new content. */
  forget(buffer: GPUBuffer): void {
    this.#outcomeOf.delete(buffer);
  }

  /** Throws the error of an earlier call that nobody has seen. */
  surface(): void {
    for (const error of this.#unseen) throw this.#shown(error);
  }

  /** Throws if one of these calls has failed. */
  assertSucceeded(outcomes: readonly Outcome[]): void {
    for (const outcome of outcomes) if (outcome.error) throw this.#shown(outcome.error);
  }

  /** Waits for the calls that were submitted so far. */
  async settled(): Promise<void> {
    await Promise.all([...this.#pending].map(({ known }) => known));
  }

  #shown(error: HeadwiseError): HeadwiseError {
    this.#unseen.delete(error);
    this.#seen.add(error);
    return error;
  }

  #forget(buffer: GPUBuffer, outcome: Outcome): void {
    if (this.#outcomeOf.get(buffer) === outcome) this.#outcomeOf.delete(buffer);
  }
}
