import { throwIfAborted } from "./abort.js";
import type { Opened, Report } from "./backend.js";
import type { GpuOptions } from "./gpuOptions.js";
import { version } from "./version.js";
import { openWebgpu } from "./webgpu/backend.js";

/** The GPU as the only engine. */
export async function openGpuAlone(
  operation: string,
  wanted: GpuOptions & { readonly signal: AbortSignal | undefined },
): Promise<Opened> {
  const backend = await openWebgpu(operation, wanted);
  try {
    throwIfAborted(wanted.signal);
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
