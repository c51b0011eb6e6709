import { thrownText } from "../base/thrown.js";
import { gpuOfThisRealm, requestAdapterOf, type GpuOptions } from "../engine/gpuOptions.js";
import { stepOf } from "./clock.js";
import type { CalibrationHost } from "./host.js";
import { keptTexts } from "./keptTexts.js";
import type { AdapterIdentity } from "./software.js";

const seconds = () => performance.now() / 1000;

/** The step of this clock, measured once. */
let measuredStep: number | undefined;

/** The surroundings of a calibration: the GPU of the options, the clock and the storage of this environment. */
export function calibrationHost(wanted: GpuOptions, identity: string, keep: boolean): Omit<CalibrationHost, "open"> {
  return {
    adapter: () => adapterOf(wanted),
    idle,
    seconds,
    clockStep: () => (measuredStep ??= stepOf(seconds)),
    date: () => Date.now(),
    store: keep ? keptTexts() : undefined,
    identity,
  };
}

/** Who the adapter is. Its device is not requested yet. */
async function adapterOf({ device, gpu }: GpuOptions): Promise<AdapterIdentity | string> {
  try {
    if (device) return identityOf(device.adapterInfo, device);
    const found = gpu ?? gpuOfThisRealm();
    const adapter = found && (await requestAdapterOf(found));
    return adapter ? identityOf(adapter.info, adapter) : "no GPU adapter is available";
  } catch (cause) {
    return `no GPU adapter is available: ${thrownText(cause)}`;
  }
}

/** What an adapter can do tells it from others if it has no name: some browsers give none. */
function traitsOf({ limits, features }: Pick<GPUAdapter, "limits" | "features">): string {
  const names = Object.keys(Object.getPrototypeOf(limits) as object).sort();
  const numbers = names.map((name) => (limits as unknown as Readonly<Record<string, unknown>>)[name]);
  return [...numbers, ...[...features].sort()].join(",");
}

function identityOf(
  info: GPUAdapterInfo | undefined,
  adapter: Pick<GPUAdapter, "limits" | "features">,
): AdapterIdentity {
  const { vendor = "", architecture = "", device = "", description = "" } = info ?? {};
  const { isFallbackAdapter = false } = (info ?? {}) as { readonly isFallbackAdapter?: boolean };
  const isNameless = [vendor, architecture, device, description].every((name) => name === "");
  const traits = isNameless ? traitsOf(adapter) : "";
  return { vendor, architecture, device, description, fallback: isFallbackAdapter, traits };
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
