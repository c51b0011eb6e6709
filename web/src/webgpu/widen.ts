import { assertIntact } from "../call/callArguments.js";
import type { CheckedFloats } from "../tensor/tensor.js";

/**
 * Numbers as float32, which holds every float16 exactly.
 *
 * @throws OptionError with code `"DETACHED_INPUT"` if the array was detached while a device was opened.
 */
export function widen(operation: string, data: CheckedFloats["data"]): Float32Array {
  assertIntact(operation, "an input", data);
  if (data[Symbol.toStringTag] === "Float32Array") return data as Float32Array;
  const bits = new Uint16Array(data.buffer, data.byteOffset, data.length);
  return Float32Array.from(bits, fromHalf);
}

/** The number that 16 bits stand for. */
export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}
