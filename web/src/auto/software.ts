import type { AdapterReport } from "../engine/report.js";

/** What names an adapter. */
export interface AdapterIdentity extends Pick<
  AdapterReport,
  "vendor" | "architecture" | "device" | "description" | "fallback"
> {
  /** Its limits and features, if it has no name. */
  readonly traits?: string;
}

/** Adapters that compute on the CPU, by the names that they give themselves. Not all of them say that they are a fallback. */
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|softpipe|software|basic render|\bwarp\b|\bcpu\b/i;

/** Whether an adapter computes on the CPU. wasm then computes faster with the same cores. */
export function isSoftware({ fallback, vendor, architecture, device, description }: AdapterIdentity): boolean {
  return fallback || [vendor, architecture, device, description].some((name) => SOFTWARE.test(name));
}

/** The adapter's name for a person. */
export function adapterName({ vendor, architecture, device, description }: AdapterIdentity): string {
  return [vendor, architecture, device, description].filter((name) => name !== "").join(", ") || "a fallback adapter";
}
