/**
 * The same API with the engine in a worker of its own. Calls never block the page, with any headers.
 *
 * Input arrays are copied once and the copies are transferred to the worker; result arrays are transferred back. Arrays
 * in shared memory are not copied: where memory may be shared, `allocate` makes such arrays. `signal` also aborts a
 * running call, unless the call changes a cache or a layer. The call then rejects at once, the worker still finishes it,
 * and the calls behind it wait for that.
 *
 * If the worker ends without `dispose()`, the pending calls reject with a DisposedError of code `"WORKER_LOST"`. Its
 * caches and layers are lost. The next call of the instance starts a new worker. If that fails, the call rejects with
 * the reason (for example an AssetError), and the call after it tries again.
 *
 * @module
 */
import type { Attention } from "../instance/attention.js";
import { browserPlace } from "../load/browserPlace.js";
import { createInWorker, type CreateOptions } from "../worker/create.js";
import { spawnWebWorker } from "../worker/webChannel.js";

export type { CreateOptions } from "../worker/create.js";
export * from "./exports.js";

/**
 * Makes an instance: starts a worker and loads the engine in it.
 *
 * @throws OptionError if an option is unknown or has a value that is not allowed.
 * @throws UnsupportedError if this machine or this version cannot do what an option asks for, and for `device` and
 *   `gpu`, because a worker cannot receive them.
 * @throws AssetError if the worker or a file of the engine cannot be loaded.
 * @throws OutOfMemoryError if `maximumMemory` cannot be reserved.
 * @throws The reason of `signal` if it aborts.
 */
export function createAttention(options?: CreateOptions): Promise<Attention> {
  return createInWorker(browserPlace, spawnWebWorker, options);
}
