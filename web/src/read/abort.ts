// All code that uses a caller's signal calls these functions. A signal may come from an old engine or a polyfill. It
// has `aborted` and `addEventListener`. It may lack `throwIfAborted` and `reason`, and `fetch` may refuse it.

import { isObject } from "../base/describe.js";

/** Whether this is a signal, perhaps of another realm. */
export function isSignal(value: unknown): value is AbortSignal {
  const { aborted, addEventListener } = (isObject(value) ? value : {}) as Partial<AbortSignal>;
  return typeof aborted === "boolean" && typeof addEventListener === "function";
}

/** Throws the signal's reason if the signal has aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/**
 * Settles with `promise`, or rejects with the signal's reason if the signal aborts first.
 *
 * @param heeds - Asked when it aborts. If false, it settles with `promise`.
 */
export async function beforeAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  heeds = (): boolean => true,
): Promise<T> {
  if (!signal) return promise;
  let forget!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    const heed = (reason: Error) => {
      if (heeds()) reject(reason);
    };
    if (signal.aborted) heed(reasonOf(signal));
    forget = onAbort(signal, heed);
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    forget();
  }
}

type Listener = (reason: Error) => void;

/**
 * The listeners of each signal. The signal itself gets one listener for all of them, because Node warns about more than
 * ten.
 */
const listening = new WeakMap<AbortSignal, Listeners>();

interface Listeners {
  readonly all: Set<Listener>;
  /** The listener that was added to the signal. */
  readonly own: () => void;
}

/** Calls `listener` when the signal aborts. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, listener: Listener): () => void {
  const { all } = listening.get(signal) ?? startListening(signal);
  all.add(listener);
  return () => {
    all.delete(listener);
    if (all.size === 0) stopListening(signal);
  };
}

function startListening(signal: AbortSignal): Listeners {
  const all = new Set<Listener>();
  const own = () => {
    for (const listener of [...all]) listener(reasonOf(signal));
  };
  listening.set(signal, { all, own });
  signal.addEventListener("abort", own);
  return { all, own };
}

function stopListening(signal: AbortSignal): void {
  const listeners = listening.get(signal);
  if (!listeners) return;
  listening.delete(signal);
  (signal as Partial<AbortSignal>).removeEventListener?.("abort", listeners.own);
}

/** The reason is thrown as it is: it may be any value. */
function reasonOf(signal: AbortSignal): Error {
  const { reason } = signal as { readonly reason?: unknown };
  return reason === undefined ? new DOMException("This operation was aborted", "AbortError") : (reason as Error);
}
