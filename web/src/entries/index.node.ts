import type { Attention } from "../instance/attention.js";
import type { CreateOptions } from "../instance/createOptions.js";
import { createOn } from "../instance/openEngine.js";
import { nodeHost } from "../wasm/nodeHost.js";
import { nodePlace } from "../wasm/nodePlace.js";

export type { CreateOptions } from "../instance/createOptions.js";
export * from "./exports.js";

/**
 * Loads the engine and starts its threads. Reads the engine's files from beside this module.
 *
 * @throws OptionError for unknown or illegal options; UnsupportedError for what this machine or version does not offer;
 *   AssetError if the engine's files cannot be had; OutOfMemoryError if `maximumMemory` cannot be reserved; the
 *   signal's reason if it aborts.
 */
export function createAttention(options?: CreateOptions): Promise<Attention> {
  return createOn(nodePlace, nodeHost, options);
}
