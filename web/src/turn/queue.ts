import { beforeAbort, throwIfAborted } from "../read/abort.js";

/**
 * Runs calls one at a time, in the order in which they were made. If no call is pending, a new call starts at once,
 * before `run` returns. A call that waits can be aborted.
 */
export class Queue {
  /** How many calls have not settled. */
  #pending = 0;
  /** Settles when all calls made so far have settled. */
  #last: Promise<unknown> | undefined;

  /** @param owner - Stays alive while a call is pending: the call holds its queue, and the queue holds its owner. */
  constructor(readonly owner?: object) {}

  /** Whether no call is pending. */
  get isIdle(): boolean {
    return this.#pending === 0;
  }

  /**
   * @param work - Returns a result or a promise of one. If it throws, the call rejects with that error.
   * @param signal - If it aborts while the call waits, the call rejects with `signal.reason`.
   * @param abandons - Asked when the signal aborts while the call runs: whether the call rejects. Later calls still wait
   *   until the work is done.
   */
  run<T>(work: () => T | Promise<T>, signal?: AbortSignal, abandons = (): boolean => false): Promise<T> {
    const before = this.#pending > 0 ? this.#last : undefined;
    let runs = false;
    const begin = () => {
      runs = true;
      return work();
    };
    const call = start(before, begin, signal);
    this.#pending += 1;
    const settled = call.then(this.#settle, this.#settle);
    // An aborted call settles before its turn. The calls behind it must still wait for the calls before it.
    // Its value is nothing: it would hold the values of all calls before it.
    this.#last = before ? Promise.all([before, settled]).then(nothing) : settled;
    return signal && !signal.aborted ? beforeAbort(call, signal, () => runs && abandons()) : call;
  }

  readonly #settle = (): void => {
    this.#pending -= 1;
  };
}

const nothing = (): void => undefined;

/** Runs `work` at once if there is no call before: an async function runs at once up to its first await. */
async function start<T>(
  before: Promise<unknown> | undefined,
  work: () => T | Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (before) await beforeAbort(before, signal);
  throwIfAborted(signal);
  return work();
}
