import { isObject } from "../base/describe.js";
import type { OptionReader } from "../read/options.js";

/** The options for the GPU, checked. */
export interface GpuOptions {
  /** The caller's own device. We use it and never destroy it. */
  readonly device: GPUDevice | undefined;
  /** A GPU object, for environments without navigator.gpu. */
  readonly gpu: GPU | undefined;
  readonly profile: boolean;
  readonly tiling: "auto" | Tiling;
}

/**
 * Tilings of the attention kernel for many rows; see kernels/attend_whole.wgsl. Which is fastest depends on the GPU.
 * Results differ in their last bits.
 */
export const TILING_NAMES = ["narrow", "wide", "general"] as const;
export type Tiling = (typeof TILING_NAMES)[number];
export const [DEFAULT_TILING] = TILING_NAMES;

export function readGpu(options: OptionReader): GpuOptions {
  return {
    device: readObject<GPUDevice>(options, "device", "createComputePipelineAsync", "be an object: a GPUDevice"),
    gpu: readObject<GPU>(options, "gpu", "requestAdapter", "be an object: a GPU, as navigator.gpu is"),
    profile: options.flag("profile", false),
    tiling: options.oneOf("tiling", ["auto", ...TILING_NAMES], "auto"),
  };
}

/** Whether there is a WebGPU that can be opened. */
export function hasGpu({ device, gpu }: GpuOptions): boolean {
  return (device ?? gpu ?? gpuOfThisRealm()) !== undefined;
}

/** navigator.gpu, if there is one. What protects privacy may have put null there, or an accessor that throws. */
export function gpuOfThisRealm(): GPU | undefined {
  try {
    return (globalThis as { navigator?: { gpu?: GPU | null } }).navigator?.gpu ?? undefined;
  } catch {
    return undefined;
  }
}

/** The fastest adapter; where none has all of WebGPU, one with its compatibility mode, which is enough here. */
export async function requestAdapterOf(gpu: GPU): Promise<GPUAdapter | null> {
  const powerPreference = "high-performance";
  return (
    (await gpu.requestAdapter({ powerPreference })) ??
    (await gpu.requestAdapter({ powerPreference, featureLevel: "compatibility" }))
  );
}

/**
 * Reads an object that is recognised by one of its methods, because it may come from another realm or implementation.
 */
function readObject<T>(options: OptionReader, name: string, method: string, rule: string): T | undefined {
  const value = options.value(name);
  if (value === undefined) return undefined;
  const isWanted = options.call.guarded(options.name(name), () => isObject(value) && method in value);
  if (!isWanted) throw options.refuse(name, rule);
  return value as T;
}
