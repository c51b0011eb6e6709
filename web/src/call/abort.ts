// The caller's signals are used only through these functions. A signal may come from an old engine or from a polyfill: it
// has `aborted` and `addEventListener`, but perhaps neither `throwIfAborted` nor `reason`, and `fetch` may refuse it.

/** Throws the signal's reason if the signal has aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/** Settles with `promise`, or rejects with the signal's reason if the signal aborts first. */
export async function beforeAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  let forget!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(reasonOf(signal));
    forget = onAbort(signal, reject);
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    forget();
  }
}

type Listener = (reason: Error) => void;

/** What listens to a signal. The signal itself has one listener for all of them: Node warns about more than ten. */
const listening = new WeakMap<AbortSignal, Listeners>();

interface Listeners {
  readonly all: Set<Listener>;
  /** The one that the signal has. */
  readonly own: () => void;
}

/** Calls `listener` when the signal aborts. The function returned takes it away again. */
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

/** Anything may be a reason; it is thrown as it is. */
function reasonOf(signal: AbortSignal): Error {
  const { reason } = signal as { readonly reason?: unknown };
  return reason === undefined ? new DOMException("This operation was aborted", "AbortError") : (reason as Error);
}
