import { Attention } from "./attention.js";
import { AutoBackend } from "./autoBackend.js";
import type { Opened } from "./backend.js";
import { OPERATION, readCreateOptions, type CheckedOptions } from "./createOptions.js";
import { UnsupportedError } from "./errors.js";
import { reasonForCpu } from "./gpuOptions.js";
import { version } from "./version.js";
import { WasmBackend } from "./wasm/backend.js";
import type { Host } from "./wasm/host.js";
import { loadEngine } from "./wasm/loader.js";
import { chooseVariant } from "./wasm/variants.js";

/** createAttention for a host: every entry of the package binds its own. */
export async function createOn(host: Host, given: unknown): Promise<Attention> {
  return Attention.over(await openEngine(host, readCreateOptions(given)));
}

/** Opens the engines that the options want. */
export async function openEngine(host: Host, wanted: CheckedOptions): Promise<Opened> {
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
  if (wanted.backend === "wasm" || !host.loadGpu) return { backend: new WasmBackend(engine), report };
  const openGpu = async (operation: string) => (await loadGpu(operation, host)).openWebgpu(operation, wanted);
  return { backend: new AutoBackend(engine, openGpu), report };
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
