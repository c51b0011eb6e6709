import { assertIntact } from "../../errors/intact.js";
import { fromHalf } from "../../tensor/half.js";
import type { CheckedFloats } from "../../tensor/tensor.js";

/**
 * Numbers as float32, which holds every float16 exactly.
 *
 * @throws OptionError with code `"DETACHED_INPUT"` if the array was detached while a device was opened.
 */
export function widen(operation: string, data: CheckedFloats["data"]): Float32Array {
  assertIntact(operation, "an input", data);
  if (data[Symbol.toStringTag] === "Float32Array") return data as Float32Array;
  return fromHalf(new Uint16Array(data.buffer, data.byteOffset, data.length));
}
