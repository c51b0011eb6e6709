import type { CalibrationHost } from "../calibration/host.js";
import type { AdapterIdentity } from "../calibration/software.js";
import { gpuOfThisRealm, type GpuOptions } from "../engine/gpuOptions.js";
import { thrownText } from "../foreign/thrown.js";
import { keptTexts } from "./keptTexts.js";

/** The surroundings of a calibration: the GPU of the options, the clock and the storage of this environment. */
export function calibrationHost(wanted: GpuOptions, identity: string, keep: boolean): Omit<CalibrationHost, "open"> {
  return {
    adapter: () => adapterOf(wanted),
    idle,
    seconds: () => performance.now() / 1000,
    date: () => Date.now(),
    store: keep ? keptTexts() : undefined,
    identity,
  };
}

/** Who the adapter is. Its device is not requested yet. */
async function adapterOf({ device, gpu }: GpuOptions): Promise<AdapterIdentity | string> {
  try {
    if (device) return identityOf(device.adapterInfo);
    const adapter = await (gpu ?? gpuOfThisRealm())?.requestAdapter({ powerPreference: "high-performance" });
    return adapter ? identityOf(adapter.info) : "no GPU adapter is available";
  } catch (cause) {
    return `no GPU adapter is available: ${thrownText(cause)}`;
  }
}

function identityOf(info: GPUAdapterInfo | undefined): AdapterIdentity {
  const { vendor = "", architecture = "", device = "", description = "" } = info ?? {};
  const { isFallbackAdapter = false } = (info ?? {}) as { readonly isFallbackAdapter?: boolean };
  return { vendor, architecture, device, description, fallback: isFallbackAdapter };
}

type Idle = (callback: () => void) => unknown;

/** Settles when the thread is idle. In Node this wait does not keep the process alive. */
function idle(): Promise<void> {
  const { requestIdleCallback } = globalThis as { readonly requestIdleCallback?: Idle };
  return new Promise((resolve) => {
    if (requestIdleCallback) requestIdleCallback(resolve);
    else (setTimeout(resolve, 1) as unknown as { unref?(): void }).unref?.();
  });
}
