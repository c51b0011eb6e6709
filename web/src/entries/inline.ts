/**
 * The same API in one file, which contains the wasm module: one thread, plain SIMD. Use it in service workers, in
 * extensions, in pages that are a single file, and with bundlers that copy no assets. It fetches nothing, imports
 * nothing and starts no worker.
 *
 * @module
 */
import { Attention } from "../instance/attention.js";
import { OPERATION, readCreateOptions, type CreateOptions as AllOptions } from "../instance/createOptions.js";
import { instanceHere } from "../instance/instanceHere.js";
import { openWasm } from "../instance/openWasm.js";
import { bringFormulas } from "../instance/parts/formulas.js";
import type { WasmSource } from "../load/host.js";
import { inlineHost } from "../load/inlineHost.js";
import { here } from "../turn/late.js";
import * as makers from "../wasm/makers.js";
import * as runners from "../wasm/runners.js";
import { WasmEngine } from "../wasm/wasmEngine.js";

export * from "./exports.js";

/**
 * Options of `createAttention`, without the options for files and GPUs that this entry does not have. It always has one
 * thread: if `threads` asks for more, the report says why.
 */
export interface CreateOptions extends Omit<
  AllOptions,
  "backend" | "device" | "gpu" | "calibrate" | "wasm" | "onProgress" | "profile" | "tiling"
> {
  /** This entry always computes with `"wasm"`. */
  readonly backend?: "auto" | "wasm" | undefined;
  /**
   * The compiled `headwise/wasm/headwise.inline.wasm` of this version. Give it if the environment compiles no bytes,
   * such as Cloudflare Workers.
   */
  readonly wasm?: Pick<WasmSource, "module"> | undefined;
}

const NO_GPU = "headwise/inline has no WebGPU";
const ABSENT = {
  device: NO_GPU,
  gpu: NO_GPU,
  calibrate: NO_GPU,
  profile: NO_GPU,
  tiling: NO_GPU,
  onProgress: "headwise/inline loads no file",
};

/**
 * Makes an instance and starts its engine.
 *
 * @throws OptionError if an option is unknown or has a value that is not allowed.
 * @throws UnsupportedError if this entry or this machine cannot do what an option asks for.
 * @throws AssetError if a content security policy forbids WebAssembly, or if `wasm.module` is not the
 *   headwise.inline.wasm of this version.
 * @throws OutOfMemoryError if `maximumMemory` cannot be reserved.
 * @throws The reason of `signal` if it aborts.
 */
export async function createAttention(options?: CreateOptions): Promise<Attention> {
  const wanted = readCreateOptions(options, ABSENT);
  bringFormulas();
  const { core, report } = await openWasm(OPERATION, inlineHost, wanted);
  return Attention.over(
    { engine: new WasmEngine(core, { layers: here(makers), operations: here(runners) }), report },
    instanceHere,
    wanted,
  );
}
