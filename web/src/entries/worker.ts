/**
 * The same API with the engine in a worker of its own: calls never block the page, whatever its headers.
 *
 * Arrays are copied once on their way there and handed over on their way back; arrays in shared memory, such as those
 * that `allocate` gives where memory may be shared, are not copied. `signal` also aborts a call that runs: it rejects at
 * once, the worker finishes it for itself, and calls behind it wait until it has. What such a call does to a cache happens.
 *
 * A worker that ends without `dispose()` rejects the calls that are pending with a DisposedError of code
 * `"WORKER_LOST"`. Its caches and layers are gone; the next call of the instance starts a new worker. If that fails, the
 * call rejects with the reason (an AssetError, for example), and the call after it tries again.
 *
 * @module
 */
import type { Attention } from "../instance/attention.js";
import { browserPlace } from "../wasm/browserPlace.js";
import { createInWorker, type CreateOptions } from "../worker/create.js";
import { spawnWebWorker } from "../worker/webChannel.js";

export type { CreateOptions } from "../worker/create.js";
export * from "./exports.js";

/**
 * Starts a worker and loads the engine in it.
 *
 * @throws OptionError for unknown or illegal options; UnsupportedError for what this machine or version does not offer,
 *   and for `device` and `gpu`, which cannot be sent to a worker; AssetError if the worker or the engine's files cannot
 *   be had; OutOfMemoryError if `maximumMemory` cannot be reserved; the signal's reason if it aborts.
 */
export function createAttention(options?: CreateOptions): Promise<Attention> {
  return createInWorker(browserPlace, spawnWebWorker, options);
}
