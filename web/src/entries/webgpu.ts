/**
 * The same API with WebGPU as the only engine. It loads no wasm.
 *
 * @module
 */
import { readGpu, type Tiling } from "../engine/gpuOptions.js";
import { Attention } from "../instance/attention.js";
import { CREATE_OTHERS } from "../instance/createOptions.js";
import { instanceHere } from "../instance/instanceHere.js";
import { openGpuAlone } from "../instance/openGpu.js";
import { bringFormulas } from "../instance/parts/formulas.js";
import { throwIfAborted } from "../read/abort.js";
import { CallArguments } from "../read/callArguments.js";
import { namesOf, readOptions } from "../read/options.js";

export * from "./exports.js";

/** Options of `createAttention`. */
export interface CreateOptions {
  /** Only `"webgpu"`, which is also the default: this entry has no other engine. */
  readonly backend?: "webgpu" | undefined;
  /** Your own GPUDevice. headwise uses it and never destroys it. Default: headwise opens a device. */
  readonly device?: object | undefined;
  /** A GPU object, for environments without navigator.gpu. In Node the npm package webgpu has one. */
  readonly gpu?: object | undefined;
  /** Measures the GPU time of kernels; see `hw.gpu.times`. Default false. */
  readonly profile?: boolean | undefined;
  /** The tiling of the attention kernel; see `createAttention` of headwise. Default `"auto"`. */
  readonly tiling?: "auto" | Tiling | undefined;
  /** Aborts loading. */
  readonly signal?: AbortSignal | undefined;
  /** Whether calls let the event loop turn when that is due; see `createAttention` of headwise. Default true. */
  readonly yield?: boolean | undefined;
}

const OPTION_NAMES = namesOf<CreateOptions>({
  backend: true,
  device: true,
  gpu: true,
  profile: true,
  tiling: true,
  signal: true,
  yield: true,
});

/**
 * Makes an instance and opens a GPU device.
 *
 * @throws OptionError if an option is unknown or has a value that is not allowed.
 * @throws UnsupportedError if there is no adapter, or if the adapter lacks what the kernels need.
 * @throws The reason of `signal` if it aborts.
 */
export async function createAttention(options?: CreateOptions): Promise<Attention> {
  const reader = readOptions(new CallArguments("createAttention"), options, OPTION_NAMES, "", "option", CREATE_OTHERS);
  reader.oneOf("backend", ["webgpu"], "webgpu");
  const wanted = { ...readGpu(reader), signal: reader.signal() };
  throwIfAborted(wanted.signal);
  const yields = reader.flag("yield", true);
  bringFormulas();
  return Attention.over(await openGpuAlone("createAttention", wanted), instanceHere, { yields });
}
