import { beforeAbort, throwIfAborted } from "./abort.js";

/**
 * Runs calls one at a time, in the order in which they were made. A call that finds no other before it starts at once,
 * before `run` returns; one that waits can be aborted.
 */
export class Queue {
  /** Calls that have not settled. */
  #pending = 0;
  /** Settles when all calls made so far have. */
  #last: Promise<unknown> | undefined;

  /** @param owner - Is not collected while a call is pending: the call holds its queue, and the queue its owner. */
  constructor(readonly owner?: object) {}

  /**
   * @param work - Returns a result or a promise of one; what it throws rejects the call.
   * @param signal - Aborting it while the call waits rejects the call with `signal.reason`.
   * @param abandons - So does aborting it while the call runs; the calls behind still wait until the work is done.
   */
  run<T>(work: () => T | Promise<T>, signal?: AbortSignal, abandons = false): Promise<T> {
    const before = this.#pending > 0 ? this.#last : undefined;
    const call = start(before, work, signal);
    this.#pending += 1;
    const settled = call.then(this.#settle, this.#settle);
    // An aborted call settles before its turn; the calls behind it still wait for those ahead of it.
    this.#last = Promise.all([before, settled]);
    return abandons && signal && !signal.aborted ? beforeAbort(call, signal) : call;
  }

  readonly #settle = (): void => {
    this.#pending -= 1;
  };
}

/** The body of an async function runs at once up to its first await. */
async function start<T>(
  before: Promise<unknown> | undefined,
  work: () => T | Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (before) await beforeAbort(before, signal);
  throwIfAborted(signal);
  return work();
}
