import { throwIfAborted } from "../call/abort.js";
import type { Opened } from "../engine/engine.js";
import { hasGpu } from "../engine/gpuOptions.js";
import { version } from "../engine/version.js";
import { UnsupportedError } from "../errors/errors.js";
import { engineFiles, type EngineFiles, type Place } from "../wasm/engineFiles.js";
import type { Host } from "../wasm/host.js";
import { WasmEngine } from "../wasm/wasmEngine.js";
import { Attention } from "./attention.js";
import { AutoEngine } from "./autoEngine.js";
import { calibrationHost } from "./calibrationHost.js";
import { OPERATION, readCreateOptions, type CheckedOptions } from "./createOptions.js";
import type { Calibrating } from "./engines.js";
import { NO_GPU, openWasm } from "./openWasm.js";

/** createAttention for an entry of the package whose engine is in files. */
export async function createOn(place: Place, hostOf: (files: EngineFiles) => Host, given: unknown): Promise<Attention> {
  const wanted = readCreateOptions(given);
  const host = hostOf(engineFiles(OPERATION, place, wanted.source));
  return Attention.over(await openEngine(OPERATION, host, wanted), wanted);
}

/** Opens the engine that the options ask for. @param operation - The public function that needs it, for messages. */
export async function openEngine(
  operation: string,
  host: Host,
  wanted: CheckedOptions,
  onReport?: () => void,
): Promise<Opened> {
  throwIfAborted(wanted.signal);
  if (wanted.backend === "webgpu") return (await loadGpu(operation, host)).openGpuAlone(operation, wanted);
  const { core, report } = await openWasm(operation, host, wanted);
  if (wanted.backend === "wasm" || !host.loadGpu) return { engine: new WasmEngine(core), report };
  const openGpu = async (later: string) => (await loadGpu(later, host)).openWebgpu(later, wanted);
  const { variant, threads } = report;
  const calibrating = calibratingOf(wanted, `${version} ${variant} ${threads}`, threads, onReport);
  return { engine: new AutoEngine(new WasmEngine(core), openGpu, hasGpu(wanted), calibrating), report };
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

async function loadGpu(operation: string, host: Host) {
  if (host.loadGpu) return host.loadGpu(operation);
  throw new UnsupportedError(`${operation}: ${NO_GPU}`);
}
