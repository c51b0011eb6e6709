import { expect } from "@jest/globals";
import type { Attention } from "headwise";
import { formula } from "headwise/formula";

import { bits } from "./close.js";
import { randomTensor } from "./randomTensor.js";

const TOKENS = 5;
const shape = (width: number) => [2, TOKENS, width];

const QUERY = {
  layout: "BSE",
  numHeads: 4,
  scaling: { kind: "dynamic-ntk", factor: 2, originalLength: 8 },
} as const;
const KEY = { layout: "BSE", numHeads: 2, base: 500 } as const;

/** Fresh arrays each time: a step must have copies of them. */
const masks = () => ({
  mask: { data: Uint8Array.from({ length: TOKENS ** 2 }, (_, n) => Number(n % 3 !== 1)), shape: [TOKENS, TOKENS] },
  bias: randomTensor(11, [1, 4, TOKENS, TOKENS]),
});

/** Attention without a layer has the bits of the calls, at the positions that each run gets. */
export async function expectAttention(hw: Attention): Promise<void> {
  const score = formula("s - 0.1 * abs(q - k)");
  const options = { layout: "BSE", numHeads: 4, numKvHeads: 2, causal: true, softcap: 3, score } as const;
  const given = masks();
  const step = await hw.record((recorder) => {
    const x = recorder.input("x", shape(64));
    const positions = recorder.numbers("positions", 2 * TOKENS);
    const q = recorder.rotary(recorder.columns(x, 0, 32), { ...QUERY, positions });
    const k = recorder.rotary(recorder.columns(x, 32, 48), { ...KEY, positions: 7 });
    return { q, k, y: recorder.attention(q, k, recorder.columns(x, 48, 64), { ...options, ...given }) };
  });
  given.mask.data.fill(0);
  given.bias.data.fill(NaN);
  for (const first of [0, 3, 20]) {
    const x = randomTensor(50 + first, shape(64));
    const part = (from: number, to: number) => ({
      data: x.data.filter((_, n) => from <= n % 64 && n % 64 < to),
      shape: shape(to - from),
    });
    const positions = Int32Array.from({ length: 2 * TOKENS }, (_, n) => (first + n * 3) % 23);
    const at = { data: positions, shape: [2, TOKENS] };
    const q = await hw.rotaryEmbedding(part(0, 32), { ...QUERY, positions: at });
    const k = await hw.rotaryEmbedding(part(32, 48), { ...KEY, positions: 7 });
    const { output } = await hw.scaledDotProductAttention(q, k, part(48, 64), { ...options, ...masks() });
    const result = await step.run({ x, positions });
    const { data } = result.y;
    expect(bits([result.q.data, result.k.data, data])).toEqual(bits([q.data, k.data, output.data]));
    expect(result.y.shape).toEqual(shape(32));
  }
  step.dispose();
}
