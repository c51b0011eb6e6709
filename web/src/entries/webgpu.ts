/**
 * The same API on WebGPU alone: no wasm is loaded.
 *
 * @module
 */
import { throwIfAborted } from "../call/abort.js";
import { CallArguments } from "../call/callArguments.js";
import { namesOf, readOptions } from "../call/options.js";
import { readGpu } from "../engine/gpuOptions.js";
import { Attention } from "../instance/attention.js";
import { openGpuAlone } from "../instance/openGpu.js";

export * from "./exports.js";

/** Options of `createAttention`. */
export interface CreateOptions {
  /** Only `"webgpu"`, the default: this entry has no other engine. */
  readonly backend?: "webgpu";
  /** A GPUDevice of the caller's; used and never destroyed. */
  readonly device?: object;
  /** A GPU object where there is no navigator.gpu: in Node that of the npm package webgpu. */
  readonly gpu?: object;
  /** Measures the kernels. */
  readonly profile?: boolean;
  /** Aborts loading. */
  readonly signal?: AbortSignal;
}

const OPTION_NAMES = namesOf<CreateOptions>({ backend: true, device: true, gpu: true, profile: true, signal: true });

/**
 * Opens a GPU device.
 *
 * @throws OptionError for unknown or illegal options; UnsupportedError if there is no adapter, or one without what the
 *   kernels need; the signal's reason if it aborts.
 */
export async function createAttention(options?: CreateOptions): Promise<Attention> {
  const reader = readOptions(new CallArguments("createAttention"), options, OPTION_NAMES);
  reader.oneOf("backend", ["webgpu"], "webgpu");
  const wanted = { ...readGpu(reader), signal: reader.signal() };
  throwIfAborted(wanted.signal);
  return Attention.over(await openGpuAlone("createAttention", wanted));
}
