import { expect } from "@jest/globals";
import type { Attention } from "headwise";
import { formula } from "headwise/formula";

import { randomTensor } from "./randomTensor.js";

// A condition hides the same keys in `visible`, in `score` and as a mask: all three compute in float32.

const KEYS = 5006;
/** Beyond 2²⁴ float32 holds even numbers only: 24,995,000 + 5,001 is rounded to 25,000,000. */
const ROWS = { queryOffset: 4999, text: "k + q * 5000 <= 25000000" };

function maskOf(queries: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: queries * KEYS }, (_, n) => {
    const [q, k] = [ROWS.queryOffset + Math.floor(n / KEYS), n % KEYS];
    return Number(Math.fround(k + Math.fround(q * 5000)) <= 25000000);
  });
}

export async function oneCondition(hw: Attention): Promise<void> {
  const query = randomTensor(1, [1, 1, 2, 4]);
  const [key, value] = [randomTensor(2, [1, 1, KEYS, 4]), randomTensor(3, [1, 1, KEYS, 4])];
  const shown = async (options: object) => {
    const given = { queryOffset: ROWS.queryOffset, returns: { output: false, probs: true }, ...options } as const;
    const { probs } = await hw.scaledDotProductAttention(query, key, value, given);
    return Array.from(probs.data, (p) => Number(p > 0));
  };
  const mask = maskOf(2);
  expect(mask[5001]).toBe(1); // exactly, it is above the limit by 1
  expect(await shown({ mask: { data: mask, shape: [2, KEYS] } })).toEqual([...mask]);
  expect(await shown({ visible: formula(ROWS.text) })).toEqual([...mask]);
  expect(await shown({ score: formula(`${ROWS.text} ? s : -Infinity`) })).toEqual([...mask]);
}
