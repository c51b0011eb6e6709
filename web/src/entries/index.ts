import type { Attention } from "../instance/attention.js";
import type { CreateOptions } from "../instance/createOptions.js";
import { createOn } from "../instance/openEngine.js";
import { browserHost } from "../wasm/browserHost.js";
import { browserPlace } from "../wasm/browserPlace.js";

export type { CreateOptions } from "../instance/createOptions.js";
export * from "./exports.js";

/**
 * Loads the engine and starts its threads. Loads the engine's files from beside this module, as a page or a bundler serves them.
 *
 * @throws OptionError for unknown or illegal options; UnsupportedError for what this machine or version does not offer;
 *   AssetError if the engine's files cannot be had; OutOfMemoryError if `maximumMemory` cannot be reserved; the
 *   signal's reason if it aborts.
 */
export function createAttention(options?: CreateOptions): Promise<Attention> {
  return createOn(browserPlace, browserHost, options);
}
