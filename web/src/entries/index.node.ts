import type { Attention } from "../instance/attention.js";
import type { CreateOptions } from "../instance/createOptions.js";
import { lateParts } from "../instance/lateParts.js";
import { createOn } from "../instance/openEngine.js";
import { nodeHost } from "../load/nodeHost.js";
import { nodePlace } from "../load/nodePlace.js";

export type { CreateOptions } from "../instance/createOptions.js";
export * from "./exports.js";

/**
 * Makes an instance: loads the engine's files from the folder of this module and starts the engine's threads.
 *
 * @throws OptionError if an option is unknown or has a value that is not allowed.
 * @throws UnsupportedError if this machine or this version cannot do what an option asks for.
 * @throws AssetError if a file of the engine cannot be loaded.
 * @throws OutOfMemoryError if `maximumMemory` cannot be reserved.
 * @throws The reason of `signal` if it aborts.
 */
export function createAttention(options?: CreateOptions): Promise<Attention> {
  return createOn(nodePlace, nodeHost, lateParts, options);
}
