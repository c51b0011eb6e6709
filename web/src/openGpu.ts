import type { Opened, Report } from "./backend.js";
import { HeadwiseError } from "./errors.js";
import type { GpuOptions } from "./gpuOptions.js";
import { version } from "./version.js";
import type { openWebgpu, WebgpuBackend } from "./webgpu/backend.js";

/** The WebGPU engine, which entries with another engine beside it load only when it is wanted. */
export interface GpuModule {
  readonly openWebgpu: typeof openWebgpu;
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

/** The GPU for `backend: "auto"`, or why there is none. */
export async function openUsefulGpu(
  operation: string,
  load: () => Promise<GpuModule>,
  options: GpuOptions,
): Promise<{ readonly backend?: WebgpuBackend; readonly reason: string }> {
  try {
    const { openWebgpu } = await load();
    const backend = await openWebgpu(operation, options);
    if (!backend.adapter.fallback)
      return { backend, reason: "webgpu for large attention calls, wasm for small ones, layers and caches" };
    const name = backend.adapter.description || backend.adapter.architecture;
    backend.dispose();
    return { reason: `wasm: the GPU adapter (${name}) computes on the CPU` };
  } catch (error) {
    if (!HeadwiseError.is(error)) throw error;
    return { reason: `wasm: ${error.message.replace(`${operation}: `, "")}` };
  }
}
