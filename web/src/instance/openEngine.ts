import { throwIfAborted } from "../call/abort.js";
import type { Opened } from "../engine/engine.js";
import { hasGpu } from "../engine/gpuOptions.js";
import { NO_CALIBRATION } from "../engine/report.js";
import { version } from "../engine/version.js";
import { OptionError, UnsupportedError } from "../errors/errors.js";
import { engineFiles, type EngineFiles, type Place } from "../wasm/engineFiles.js";
import { MEMORY_PER_THREAD, type Host } from "../wasm/host.js";
import { loadEngine } from "../wasm/loader.js";
import { chooseVariant } from "../wasm/variants.js";
import { WasmEngine } from "../wasm/wasmEngine.js";
import { Attention } from "./attention.js";
import { AutoEngine } from "./autoEngine.js";
import { calibrationHost } from "./calibrationHost.js";
import { OPERATION, readCreateOptions, type CheckedOptions } from "./createOptions.js";
import type { Calibrating } from "./engines.js";

/** createAttention for an entry of the package whose engine is in files. */
export async function createOn(place: Place, hostOf: (files: EngineFiles) => Host, given: unknown): Promise<Attention> {
  const wanted = readCreateOptions(given);
  const host = hostOf(engineFiles(OPERATION, place, wanted.source));
  return Attention.over(await openEngine(OPERATION, host, wanted));
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
  const best = await chooseVariant(operation, wanted.variant, host.variants);
  const { threads, reason: threadsReason } = chooseThreads(host, wanted.threads);
  checkMemory(operation, threads, wanted.maximumMemory);
  const loading = { ...wanted, operation, variant: best.variant, asked: wanted.variant, threads };
  const { core, variant } = await loadEngine(host, loading);
  const variantReason = variant === best.variant ? best.reason : `the module given as wasm is the ${variant} variant`;
  const reasons: Record<string, string> = {
    ...(wanted.backend === "auto" && !host.loadGpu && { webgpu: NO_GPU }),
    ...(variantReason && { variant: variantReason }),
    ...(threadsReason && { threads: threadsReason }),
    ...(wanted.profile && { profile: "only WebGPU with timestamp-query times its kernels" }),
  };
  const { threads: number } = core.native;
  const { maximumMemory } = wanted;
  const chosen = { version, backend: "wasm", variant, threads: number, maximumMemory } as const;
  const report = { ...chosen, reasons, calibration: NO_CALIBRATION };
  if (wanted.backend === "wasm" || !host.loadGpu) return { engine: new WasmEngine(core), report };
  const openGpu = async (later: string) => (await loadGpu(later, host)).openWebgpu(later, wanted);
  const calibrating = calibratingOf(wanted, `${version} ${variant} ${number}`, number, onReport);
  return { engine: new AutoEngine(new WasmEngine(core), openGpu, hasGpu(wanted), calibrating), report };
}

/** Throws if the threads' stacks alone would fill the memory: the first call would have no room. */
function checkMemory(operation: string, threads: number, maximumMemory: number): void {
  const least = threads * MEMORY_PER_THREAD;
  if (maximumMemory >= least) return;
  throw new OptionError(
    `${operation}: maximumMemory must be at least ${least} for ${threads} threads, ${MEMORY_PER_THREAD} bytes each, ` +
      `got ${maximumMemory}`,
    { hint: "Raise `maximumMemory`, or ask for fewer threads." },
  );
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
    return 'calibrate is false: only calls with GPU tensors, with location "gpu" and by encode go to WebGPU';
  return { host: calibrationHost(wanted, identity, wanted.calibrate.keep), threads, ...(onChange && { onChange }) };
}

const NO_GPU = "this entry of the package has no WebGPU; headwise and headwise/webgpu have";

async function loadGpu(operation: string, host: Host) {
  if (host.loadGpu) return host.loadGpu(operation);
  throw new UnsupportedError(`${operation}: ${NO_GPU}`);
}

function chooseThreads(host: Host, wanted: "auto" | number): { readonly threads: number; readonly reason: string } {
  const { most, good, reason } = host.threads();
  const threads = Math.min(wanted === "auto" ? good : wanted, most);
  const limited = threads < (wanted === "auto" ? Infinity : wanted) ? reason : undefined;
  const blocks =
    threads === 1 && inWindow() ? "calls block the page while they compute: headwise/worker does not" : undefined;
  return { threads, reason: [limited, blocks].filter((text) => text !== undefined).join("; ") };
}

/** Whether this is the main thread of a page. */
function inWindow(): boolean {
  return typeof window === "object" && typeof document === "object";
}
