import type { Tensor } from "../tensor.js";
import { arrayLike, checkFloats, checkRank, shaped } from "./element.js";

const FLOAT16_MINUS_INFINITY = 0xfc00;

/**
 * `attn_mask` as headwise takes it: booleans say who is seen, numbers are added to the scores. A last axis shorter than
 * the keys is padded so that the keys beyond it are hidden.
 */
export function maskOrBias(operator: string, value: unknown, totalLength: number): { mask?: Tensor; bias?: Tensor } {
  const { data, shape, kind } = shaped(operator, "attn_mask", value);
  checkRank(operator, "attn_mask", shape, [1, 2, 3, 4]);
  const stated = (value as { dtype?: unknown }).dtype;
  if (stated === "bool" || (kind === "Uint8Array" && stated === undefined))
    return { mask: padRows(Uint8Array.from(data, Number), shape, totalLength, 0) };
  if (kind === "Uint16Array" || kind === "Float16Array") {
    const { data: bits } = checkFloats(operator, "attn_mask", value);
    return { bias: padRows(bits, shape, totalLength, FLOAT16_MINUS_INFINITY) };
  }
  const numbers = kind === "Float32Array" ? (data as Float32Array) : Float32Array.from(data, Number);
  return { bias: padRows(numbers, shape, totalLength, -Infinity) };
}

function padRows<T extends Float32Array | Uint16Array | Uint8Array>(
  data: T,
  shape: readonly number[],
  totalLength: number,
  hidden: number,
): { data: T; shape: number[] } {
  const length = shape.at(-1)!;
  if (length >= totalLength) return { data, shape: [...shape] };
  const rows = shape.slice(0, -1).reduce((count, extent) => count * extent, 1);
  const padded = arrayLike(data, rows * totalLength).fill(hidden) as T;
  for (let row = 0; row < rows; ++row) padded.set(data.subarray(row * length, (row + 1) * length), row * totalLength);
  return { data: padded, shape: [...shape.slice(0, -1), totalLength] };
}
