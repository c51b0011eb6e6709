import { UnsupportedError } from "../base/errors.js";
import type { Opened } from "../engine/engine.js";
import { engineFiles, type EngineFiles, type Place } from "../load/engineFiles.js";
import type { Host } from "../load/host.js";
import { beforeAbort, throwIfAborted } from "../read/abort.js";
import { WasmEngine } from "../wasm/wasmEngine.js";
import { Attention } from "./attention.js";
import { OPERATION, readCreateOptions, type CheckedOptions } from "./createOptions.js";
import { NO_GPU, openWasm } from "./openWasm.js";
import type { EngineParts, Parts } from "./parts.js";

/** createAttention for an entry of the package whose engine is in files. */
export async function createOn(
  place: Place,
  hostOf: (files: EngineFiles) => Host,
  parts: Parts,
  given: unknown,
): Promise<Attention> {
  const wanted = readCreateOptions(given);
  const host = hostOf(engineFiles(OPERATION, place, wanted.source));
  return Attention.over(await openEngine(OPERATION, host, parts, wanted), parts, wanted);
}

/** Opens the engine that the options ask for. @param operation - The public function that needs it, for messages. */
export async function openEngine(
  operation: string,
  host: Host,
  parts: EngineParts,
  wanted: CheckedOptions,
  onReport?: () => void,
): Promise<Opened> {
  throwIfAborted(wanted.signal);
  const { signal } = wanted;
  if (wanted.backend === "webgpu")
    return (await beforeAbort(loadGpu(operation, host), signal)).openGpuAlone(operation, wanted);
  const loading = wanted.backend === "auto" && host.loadGpu ? parts.auto.load(operation) : undefined;
  loading?.catch(() => undefined); // if WebAssembly fails too, that error counts
  const { core, report } = await openWasm(operation, host, wanted);
  const wasm = { engine: new WasmEngine(core, parts), report };
  if (!loading) return wasm;
  const openGpu = async (later: string) => (await loadGpu(later, host)).openWebgpu(later, wanted);
  try {
    return (await beforeAbort(loading, signal)).openAuto(wasm, openGpu, wanted, parts.placed, onReport);
  } catch (error) {
    wasm.engine.dispose();
    throw error;
  }
}

async function loadGpu(operation: string, host: Host) {
  if (host.loadGpu) return host.loadGpu(operation);
  throw new UnsupportedError(`${operation}: ${NO_GPU}`);
}
