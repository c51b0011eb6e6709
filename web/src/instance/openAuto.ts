import type { Part } from "../call/late.js";
import type { Opened } from "../engine/engine.js";
import { hasGpu } from "../engine/gpuOptions.js";
import type { GpuEngine } from "../engine/gpuModule.js";
import { version } from "../engine/version.js";
import { AutoEngine } from "./autoEngine.js";
import { calibrationHost } from "./calibrationHost.js";
import type { CheckedOptions } from "./createOptions.js";
import type { Calibrating } from "./engines.js";
import type * as placed from "./placed.js";

/** The engine of `backend: "auto"` over a wasm engine and a GPU that it may open. */
export function openAuto(
  { engine, report }: Opened,
  openGpu: (operation: string) => Promise<GpuEngine>,
  wanted: CheckedOptions,
  placing: Part<typeof placed>,
  onReport?: () => void,
): Opened {
  const { variant, threads } = report;
  const calibrating = calibratingOf(wanted, `${version} ${variant} ${threads}`, threads, onReport);
  return { engine: new AutoEngine(engine, openGpu, hasGpu(wanted), calibrating, placing), report };
}

/** How `backend: "auto"` calibrates, or why it does not. */
function calibratingOf(
  wanted: CheckedOptions,
  identity: string,
  threads: number,
  onChange?: () => void,
): Calibrating | string {
  if (!hasGpu(wanted)) return "this environment has no navigator.gpu";
  if (!wanted.calibrate.on)
    return 'calibrate is false: only calls with GPU tensors, with location "gpu" or encoder go to WebGPU';
  return { host: calibrationHost(wanted, identity, wanted.calibrate.keep), threads, ...(onChange && { onChange }) };
}
