import { Attention } from "./attention.js";
import { AutoBackend } from "./autoBackend.js";
import type { Opened } from "./backend.js";
import { OPERATION, readCreateOptions, type CheckedOptions } from "./createOptions.js";
import { UnsupportedError } from "./errors.js";
import { reasonForCpu } from "./gpuOptions.js";
import type { Late } from "./late.js";
import type { AllOperations } from "./loadOperations.js";
import { version } from "./version.js";
import { WasmBackend, type WasmOperations } from "./wasm/backend.js";
import type { Host, WasmSource } from "./wasm/host.js";
import { loadEngine } from "./wasm/loader.js";
import { chooseVariant } from "./wasm/variants.js";

/**
 * createAttention for a host: every entry of the package binds its own.
 *
 * @param findOperations - Those beside scaledDotProductAttention, in a file or at hand.
 */
export async function createOn(
  host: Host,
  findOperations: (source: WasmSource) => Late<AllOperations>,
  given: unknown,
): Promise<Attention> {
  const wanted = readCreateOptions(given);
  const operations = findOperations(wanted.source);
  return new Attention(await openEngine(host, wanted, () => operations.loaded!.wasm), operations);
}

/** Opens the engines that the options want. */
export async function openEngine(
  host: Host,
  wanted: CheckedOptions,
  operations: () => WasmOperations,
): Promise<Opened> {
  wanted.signal?.throwIfAborted();
  if (wanted.backend === "webgpu") return (await loadGpu(OPERATION, host)).openGpuAlone(OPERATION, wanted);
  const { variant, reason } = await chooseVariant(OPERATION, wanted.variant, host.variants);
  const { threads, reason: threadsReason } = chooseThreads(host, wanted.threads);
  const engine = await loadEngine(host, { ...wanted, variant, threads });
  const reasons: Record<string, string> = {
    ...(wanted.backend === "auto" && { webgpu: host.loadGpu ? reasonForCpu(wanted) : NO_GPU }),
    ...(reason && { variant: reason }),
    ...(threadsReason && { threads: threadsReason }),
    ...(wanted.profile && { profile: "only WebGPU with timestamp-query times its kernels" }),
  };
  const report = { version, backend: "wasm", variant, threads: engine.native.threads, reasons } as const;
  if (wanted.backend === "wasm" || !host.loadGpu) return { backend: new WasmBackend(engine, operations), report };
  const openGpu = async (operation: string) => (await loadGpu(operation, host)).openWebgpu(operation, wanted);
  return { backend: new AutoBackend(engine, operations, openGpu), report };
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

/** Whether this is the thread that a page paints on. */
function inWindow(): boolean {
  return typeof window === "object" && typeof document === "object";
}
