import type { Attention } from "../instance/attention.js";
import type { CreateOptions } from "../instance/createOptions.js";
import { lateParts } from "../instance/lateParts.js";
import { createOn } from "../instance/openEngine.js";
import { browserHost } from "../load/browserHost.js";
import { browserPlace } from "../load/browserPlace.js";

export type { CreateOptions } from "../instance/createOptions.js";
export * from "./exports.js";

/**
 * Makes an instance: loads the engine's files and starts the engine's threads. The files are loaded from the folder of
 * this module, where the page or the bundler serves them.
 *
 * @throws OptionError if an option is unknown or has a value that is not allowed.
 * @throws UnsupportedError if this machine or this version cannot do what an option asks for.
 * @throws AssetError if a file of the engine cannot be loaded.
 * @throws OutOfMemoryError if `maximumMemory` cannot be reserved.
 * @throws The reason of `signal` if it aborts.
 */
export function createAttention(options?: CreateOptions): Promise<Attention> {
  return createOn(browserPlace, browserHost, lateParts, options);
}
