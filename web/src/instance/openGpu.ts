import type { Opened } from "../engine/engine.js";
import type { GpuOptions } from "../engine/gpuOptions.js";
import { NO_CALIBRATION, type Report } from "../engine/report.js";
import { version } from "../engine/version.js";
import { beforeAbort, throwIfAborted } from "../read/abort.js";
import { openWebgpu } from "../webgpu/webgpuEngine.js";
import type { CheckedOptions } from "./createOptions.js";
import { DEFAULT_MEMORY } from "./usableMemory.js";

/** Opens a GPU as the only engine. */
export async function openGpuAlone(
  operation: string,
  wanted: GpuOptions & Pick<CheckedOptions, "signal"> & Partial<Pick<CheckedOptions, "threads" | "maximumMemory">>,
): Promise<Opened> {
  throwIfAborted(wanted.signal);
  const opening = openWebgpu(operation, wanted);
  const engine = await beforeAbort(opening, wanted.signal).catch((reason: unknown) => {
    opening.then((unwanted) => unwanted.dispose()).catch(() => undefined);
    throw reason;
  });
  const { threads = "auto", maximumMemory = DEFAULT_MEMORY } = wanted;
  const reasons: Record<string, string> = {
    ...(wanted.profile && !engine.isTimed && { profile: "the device has no timestamp-query" }),
    ...(threads !== "auto" && { threads: "WebGPU computes on the GPU, without threads" }),
    ...(maximumMemory !== DEFAULT_MEMORY && { maximumMemory: "it limits the memory of wasm, not that of a GPU" }),
  };
  const report: Report = {
    version,
    backend: "webgpu",
    variant: "wgsl",
    threads: 0,
    adapter: engine.adapter,
    reasons,
    calibration: NO_CALIBRATION,
  };
  return { engine, report };
}
