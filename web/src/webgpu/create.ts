import { Attention } from "../attention.js";
import type { OptionReader } from "../options.js";
import { version } from "../version.js";
import { openWebgpu } from "./backend.js";
import type { DeviceOptions } from "./device.js";

interface GpuOptions extends DeviceOptions {
  readonly profile: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Reads the options that concern the GPU. */
export function readGpu(options: OptionReader): GpuOptions {
  return {
    device: readObject<GPUDevice>(options, "device", "createComputePipelineAsync", "be an object: a GPUDevice"),
    gpu: readObject<GPU>(options, "gpu", "requestAdapter", "be an object: a GPU, as navigator.gpu is"),
    profile: options.flag("profile", false),
    signal: options.signal(),
  };
}

/** An object known by one of its methods: it may come from another realm or implementation. */
function readObject<T>(options: OptionReader, name: string, method: string, rule: string): T | undefined {
  const value = options.value(name);
  if (value === undefined) return undefined;
  if (typeof value !== "object" || value === null || !(method in value)) throw options.refuse(name, rule);
  return value as T;
}

/** An instance that computes on the GPU alone. */
export async function createOnGpu(operation: string, wanted: GpuOptions): Promise<Attention> {
  const backend = await openWebgpu(operation, wanted);
  try {
    wanted.signal?.throwIfAborted();
  } catch (reason) {
    backend.dispose();
    throw reason;
  }
  const reasons: Record<string, string> =
    wanted.profile && !backend.isTimed ? { profile: "the device has no timestamp-query" } : {};
  return new Attention(backend, {
    version,
    backend: "webgpu",
    variant: "wgsl",
    threads: 0,
    adapter: backend.adapter,
    reasons,
  });
}
