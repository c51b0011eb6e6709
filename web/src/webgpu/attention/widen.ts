import { assertIntact } from "../../base/intact.js";
import { numbersOf } from "../../tensor/half.js";
import type { CheckedWeights } from "../../tensor/tensor.js";

/**
 * Numbers as float32, which holds every float16 and bfloat16 exactly.
 *
 * @throws OptionError with code `"DETACHED_INPUT"` if the array was detached while a device was opened.
 */
export function widen(operation: string, { data, dtype }: Pick<CheckedWeights, "data" | "dtype">): Float32Array {
  assertIntact(operation, "an input", data);
  return numbersOf(data as Float32Array | Uint16Array, dtype) as Float32Array;
}
