import { AutoEngine } from "../auto/autoEngine.js";
import { calibrationHost } from "../auto/calibrationHost.js";
import type { Calibrating } from "../auto/engines.js";
import type * as placed from "../auto/placing.js";
import type { Opened } from "../engine/engine.js";
import type { GpuEngine } from "../engine/gpuModule.js";
import { hasGpu } from "../engine/gpuOptions.js";
import { version } from "../engine/version.js";
import type { Part } from "../turn/late.js";
import type { CheckedOptions } from "./createOptions.js";

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
