import type { OptionReader } from "../call/options.js";
import { isObject } from "../foreign/describe.js";

/** The options that concern the GPU, checked. */
export interface GpuOptions {
  /** A device of the caller's: used, never destroyed. */
  readonly device: GPUDevice | undefined;
  /** Where there is no navigator.gpu. */
  readonly gpu: GPU | undefined;
  readonly profile: boolean;
}

export function readGpu(options: OptionReader): GpuOptions {
  return {
    device: readObject<GPUDevice>(options, "device", "createComputePipelineAsync", "be an object: a GPUDevice"),
    gpu: readObject<GPU>(options, "gpu", "requestAdapter", "be an object: a GPU, as navigator.gpu is"),
    profile: options.flag("profile", false),
  };
}

/** Why `backend: "auto"` computes on the CPU. */
export function reasonForCpu({ device, gpu }: GpuOptions): string {
  if (device ?? gpu ?? gpuOfThisRealm())
    return 'opened only by calls with GPU tensors, with location "gpu" and by encode: no real GPU has been measured yet';
  return "this environment has no navigator.gpu";
}

/** Where a browser has it. */
export function gpuOfThisRealm(): GPU | undefined {
  return (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu;
}

/** An object known by one of its methods: it may come from another realm or implementation. */
function readObject<T>(options: OptionReader, name: string, method: string, rule: string): T | undefined {
  const value = options.value(name);
  if (value === undefined) return undefined;
  if (!isObject(value) || !(method in value)) throw options.refuse(name, rule);
  return value as T;
}
