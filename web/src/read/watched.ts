/** How far a long call has come. */
export interface CallProgress {
  /** The floating-point operations that are done, of `total`. */
  readonly done: number;
  readonly total: number;
}

/** The options with which a caller watches a call. */
export interface WatchOptions {
  /** Aborts the call while it waits in the queue, and a long call on WebGPU between two of its parts. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called when a part of a long call on WebGPU is done. A call that is computed at once, as every call on wasm, does not
   * call it. What it throws rejects the call.
   */
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
}

/** The same, checked. */
export interface Watched {
  readonly signal: AbortSignal | undefined;
  readonly onProgress: WatchOptions["onProgress"] | undefined;
}

/** For problems that go to another thread. */
export const UNWATCHED: Watched = { signal: undefined, onProgress: undefined };
