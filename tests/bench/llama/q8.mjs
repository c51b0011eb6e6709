// Q8_0, a form of llama.cpp: blocks of 32 numbers, each a scale as float16 and 32 numbers of 8 bits.

import { halfBits, halfValue } from "./half.mjs";

export const BLOCK = 32;
export const BLOCK_BYTES = 2 + BLOCK;

/**
 * The bytes of numbers, whose count is a multiple of 32. If a block has a number of at least 2 ** -7, so that its scale is
 * a normal float16, each of its numbers is at most half a scale away from what is stored.
 */
export function toQ8(numbers) {
  const bytes = new Uint8Array((numbers.length / BLOCK) * BLOCK_BYTES);
  const [small, view] = [new Int8Array(bytes.buffer), new DataView(bytes.buffer)];
  for (let from = 0, to = 0; from < numbers.length; from += BLOCK, to += BLOCK_BYTES) {
    let most = 0;
    for (let n = 0; n < BLOCK; n++) most = Math.max(most, Math.abs(numbers[from + n]));
    const bits = halfBits(most / 127);
    const scale = halfValue(bits);
    view.setUint16(to, bits, true);
    for (let n = 0; n < BLOCK; n++)
      small[to + 2 + n] = scale === 0 ? 0 : clamped(Math.round(numbers[from + n] / scale));
  }
  return bytes;
}

/** The scale is rounded, so the largest number can be a little more than 127 scales. */
const clamped = (count) => Math.max(-127, Math.min(127, count));
