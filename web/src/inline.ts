/**
 * The same API in one file: one thread, plain SIMD, the module inside. For service workers, extensions, pages that are one
 * file, and bundlers that copy no assets. It fetches and imports nothing and starts no worker.
 *
 * @module
 */
import type { Attention } from "./attention.js";
import { createOn } from "./createAttention.js";
import type { CreateOptions as AllOptions } from "./createOptions.js";
import { inlineHost } from "./wasm/inlineHost.js";

export * from "./exports.js";

/** Options of `createAttention`, without those that only an engine in files, with threads or on a GPU has. */
export interface CreateOptions extends Omit<
  AllOptions,
  "backend" | "device" | "gpu" | "wasm" | "onProgress" | "profile"
> {
  /** Only `"wasm"`, whatever is asked for. */
  readonly backend?: "auto" | "wasm";
}

/**
 * Starts the engine.
 *
 * @throws OptionError for unknown or illegal options; UnsupportedError for what this entry or this machine does not
 *   offer; AssetError if a content security policy forbids WebAssembly; OutOfMemoryError if `maximumMemory` cannot be
 *   reserved; the signal's reason if it aborts.
 */
export function createAttention(options?: CreateOptions): Promise<Attention> {
  return createOn(inlineHost, options);
}
