import type { Opened, Report } from "./backend.js";
import { gpuOfThisRealm, type GpuOptions } from "./gpuOptions.js";
import { version } from "./version.js";
import type { openWebgpu } from "./webgpu/backend.js";

/** The WebGPU engine, which entries with another engine beside it load only when it is wanted. */
export interface GpuModule {
  readonly openWebgpu: typeof openWebgpu;
  readonly version: string;
}

/** The GPU as the only engine. */
export async function openGpuAlone(
  operation: string,
  { openWebgpu }: GpuModule,
  wanted: GpuOptions & { readonly signal: AbortSignal | undefined },
): Promise<Opened> {
  const backend = await openWebgpu(operation, wanted);
  try {
    wanted.signal?.throwIfAborted();
  } catch (reason) {
    backend.dispose();
    throw reason;
  }
  const reasons: Record<string, string> =
    wanted.profile && !backend.isTimed ? { profile: "the device has no timestamp-query" } : {};
  const report: Report = {
    version,
    backend: "webgpu",
    variant: "wgsl",
    threads: 0,
    adapter: backend.adapter,
    reasons,
  };
  return { backend, report };
}

/** Why `backend: "auto"` computes on the CPU. */
export function reasonForCpu({ device, gpu }: GpuOptions): string {
  if (device ?? gpu ?? gpuOfThisRealm())
    return 'opened only by calls with GPU tensors, with location "gpu" and by encode: no real GPU has been measured yet';
  return "this environment has no navigator.gpu";
}
