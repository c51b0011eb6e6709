import { describe } from "./describe.js";
import { OptionError } from "./errors.js";

/** Checks the first argument of `encode`, as far as it shows. What only looks like an encoder fails when it is used. */
export function checkEncoder(operation: string, value: unknown): object {
  if (typeof value === "object" && value !== null && "beginComputePass" in value) return value;
  throw new OptionError(`${operation}: commandEncoder must be a GPUCommandEncoder, got ${describe(value)}`, {
    hint: "The `createCommandEncoder()` of the device that was given to createAttention makes one.",
  });
}
