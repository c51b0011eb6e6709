import type { FloatDtype, Kernel } from "../kernels/kernel.js";
import { divideUp } from "./limits.js";

/** One dispatch. */
export interface Step {
  readonly kernel: Kernel;
  readonly workgroups: number;
}

export const FLAT_THREADS = 64;

/** A kernel whose invocations work independently. */
export function flatKernel(
  name:
    | "pack"
    | "narrow"
    | "merge"
    | "rotary"
    | "turn_heads"
    | "pack_weight"
    | "tokens"
    | "store_rows"
    | "key_means"
    | "store_gradient"
    | "heads_back"
    | "gather_rows"
    | "move_rows"
    | "lanes"
    | "sum_parts"
    | "map_rows"
    | "take_rows",
  constants: Kernel["constants"] = {},
): Kernel {
  return { name, constants: { THREADS: FLAT_THREADS, ...constants } };
}

/** The step from float32 to the output's dtype; undefined if it is float32. */
export function narrowStep(dtype: FloatDtype, length: number): Step | undefined {
  if (dtype === "float32") return undefined;
  return { kernel: flatKernel("narrow"), workgroups: divideUp(length, 2 * FLAT_THREADS) };
}

/** Number of elements that one workgroup of a flat kernel writes. */
export const FLAT_WORKGROUP = FLAT_THREADS;
