import { OptionError, UnsupportedError } from "../base/errors.js";
import { NO_CALIBRATION, type Report } from "../engine/report.js";
import { version } from "../engine/version.js";
import { MEMORY_PER_THREAD, type Host } from "../load/host.js";
import { chooseVariant } from "../load/variants.js";
import { throwIfAborted } from "../read/abort.js";
import type { WasmCore } from "../wasm/core.js";
import { loadEngine } from "../wasm/loader.js";
import type { CheckedOptions } from "./createOptions.js";

export const NO_GPU = "this entry of the package has no WebGPU; headwise and headwise/webgpu have";

/** Loads the wasm core that the options ask for. @param operation - The public function that needs it, for messages. */
export async function openWasm(
  operation: string,
  host: Host,
  wanted: CheckedOptions,
): Promise<{ readonly core: WasmCore; readonly report: Report }> {
  throwIfAborted(wanted.signal);
  if (wanted.backend === "webgpu") throw new UnsupportedError(`${operation}: ${NO_GPU}`);
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
  return { core, report: { ...chosen, reasons, calibration: NO_CALIBRATION } };
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
