/**
 * The same API in one file: one thread, plain SIMD, the module inside. For service workers, extensions, pages that are one
 * file, and bundlers that copy no assets. It fetches and imports nothing and starts no worker.
 *
 * @module
 */
import { Attention } from "../instance/attention.js";
import { OPERATION, readCreateOptions, type CreateOptions as AllOptions } from "../instance/createOptions.js";
import { openEngine } from "../instance/openEngine.js";
import type { WasmSource } from "../wasm/host.js";
import { inlineHost } from "../wasm/inlineHost.js";

export * from "./exports.js";

/** Options of `createAttention`, without those that only an engine in files, with threads or on a GPU has. */
export interface CreateOptions extends Omit<
  AllOptions,
  "backend" | "device" | "gpu" | "wasm" | "onProgress" | "profile"
> {
  /** Only `"wasm"`, whatever is asked for. */
  readonly backend?: "auto" | "wasm";
  /**
   * The compiled `headwise/wasm/headwise.inline.wasm` of this version, where none may be compiled from bytes, as in
   * Cloudflare Workers.
   */
  readonly wasm?: Pick<WasmSource, "module">;
}

const NO_GPU = "headwise/inline has no WebGPU";
const ABSENT = { device: NO_GPU, gpu: NO_GPU, profile: NO_GPU, onProgress: "headwise/inline loads no file" };

/**
 * Starts the engine.
 *
 * @throws OptionError for unknown or illegal options; UnsupportedError for what this entry or this machine does not
 *   offer; AssetError if a content security policy forbids WebAssembly, or `wasm.module` is another module than
 *   headwise.inline.wasm of this version; OutOfMemoryError if `maximumMemory` cannot be reserved; the signal's reason if
 *   it aborts.
 */
export async function createAttention(options?: CreateOptions): Promise<Attention> {
  return Attention.over(await openEngine(OPERATION, inlineHost, readCreateOptions(options, ABSENT)));
}
