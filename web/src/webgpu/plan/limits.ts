import { UnsupportedError } from "../../base/errors.js";
import type { Tiling } from "../../engine/gpuOptions.js";

/** A number of neighbouring invocations that are always in one subgroup. */
export type Together = 1 | 4 | 8 | 16;

/** Limits of a device, with WebGPU's names. */
export interface Limits {
  readonly maxComputeWorkgroupStorageSize: number;
  readonly maxComputeInvocationsPerWorkgroup: number;
  readonly maxComputeWorkgroupsPerDimension: number;
  readonly maxStorageBufferBindingSize: number;
  readonly maxBufferSize: number;
  /**
   * Number of neighbouring invocations that add and compare without workgroup memory: 4, 8 or 16 in a subgroup; 1 without
   * subgroups.
   */
  readonly together?: Together;
  /** Whether kernels may compute with float16 (shader-f16). */
  readonly halves?: boolean;
  /** The tiling of attention, of tiles.ts. Default DEFAULT_TILING. */
  readonly tiling?: Tiling;
}

export const divideUp = (value: number, step: number): number => Math.ceil(value / step);

type BufferLimit = "maxStorageBufferBindingSize" | "maxBufferSize";

/** @param which - Those that a buffer must keep to. */
export function checkBytes(
  operation: string,
  name: string,
  bytes: number,
  limits: Pick<Limits, BufferLimit>,
  which: readonly BufferLimit[] = ["maxStorageBufferBindingSize", "maxBufferSize"],
): void {
  for (const limit of which)
    if (bytes > limits[limit])
      throw new UnsupportedError(
        `${operation}: ${name} needs a buffer of ${bytes} bytes, over the device's ${limit} of ${limits[limit]}`,
        { hint: 'Split the batch or the heads, ask for fewer results, or use backend "wasm".' },
      );
}

/** A two-dimensional grid for this many workgroups, with both sides within the limit. */
export function gridOf(operation: string, kernel: string, workgroups: number, limits: Limits): [number, number] {
  const most = limits.maxComputeWorkgroupsPerDimension;
  const width = Math.min(Math.max(workgroups, 1), most);
  const height = divideUp(Math.max(workgroups, 1), width);
  if (height > most)
    throw new UnsupportedError(
      `${operation}: ${kernel} needs ${workgroups} workgroups, over the device's maxComputeWorkgroupsPerDimension of ` +
        `${most}, squared`,
    );
  return [width, height];
}
