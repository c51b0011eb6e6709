import { expect } from "@jest/globals";
import type { Attention, Layout, Tensor } from "headwise";

import { randomTensor } from "./randomTensor.js";

export const LAYOUTS: readonly Layout[] = ["BHSD", "BSHD", "BSE", "BES"];

/** A tensor [B, H, S, D] in another layout. */
export function inLayout(rows: Tensor<"float32">, layout: Layout): Tensor<"float32"> {
  const [B, H, S, D] = rows.shape as [number, number, number, number];
  const shape = { BHSD: [B, H, S, D], BSHD: [B, S, H, D], BSE: [B, S, H * D], BES: [B, H * D, S] }[layout];
  const data = new Float32Array(rows.data.length);
  let from = 0;
  for (let b = 0; b < B; ++b)
    for (let h = 0; h < H; ++h)
      for (let s = 0; s < S; ++s)
        for (let d = 0; d < D; ++d) {
          const at = {
            BHSD: from,
            BSHD: ((b * S + s) * H + h) * D + d,
            BSE: ((b * S + s) * H + h) * D + d,
            BES: ((b * H + h) * D + d) * S + s,
          }[layout];
          data[at] = rows.data[from++]!;
        }
  return { data, shape };
}

const [B, HQ, HKV, SQ, SKV, D, DV] = [2, 4, 2, 5, 9, 6, 7];

/** Tests every layout of queries with every layout of keys and values, in a call and in a step of a cache. */
export async function expectLayoutsToMix(hw: Attention): Promise<void> {
  const [q, k, v] = [randomTensor(1, [B, HQ, SQ, D]), randomTensor(2, [B, HKV, SKV, D]), randomTensor(3, [B, HKV, SKV, DV])]; // oxfmt-ignore
  const returns = { output: true, probs: true } as const;
  const expected = await hw.scaledDotProductAttention(q, k, v, { causal: true, returns });
  const form = { batchSize: B, numKvHeads: HKV, headDim: D, valueDim: DV };
  for (const layout of LAYOUTS)
    for (const kvLayout of LAYOUTS) {
      const given = [inLayout(q, layout), inLayout(k, kvLayout), inLayout(v, kvLayout)] as const;
      const options = { layout, kvLayout, numHeads: HQ, numKvHeads: HKV, causal: true, returns };
      const { output, probs } = await hw.scaledDotProductAttention(...given, options);
      const wanted = inLayout(expected.output, layout);
      expect([layout, kvLayout, output.shape, output.data]).toEqual([layout, kvLayout, wanted.shape, wanted.data]);
      expect(probs).toEqual(expected.probs);
      const cache = await hw.kvCache(form);
      await cache.append(inLayout(k, kvLayout), inLayout(v, kvLayout), { layout: kvLayout });
      const before = await cache.save();
      await cache.rewind(0);
      const step = await cache.step(inLayout(q, layout), inLayout(k, kvLayout), inLayout(v, kvLayout), {
        layout,
        kvLayout,
      });
      expect(await cache.save()).toEqual(before);
      expect(step.output.shape).toEqual(inLayout(randomTensor(1, [B, HQ, SQ, DV]), layout).shape);
      cache.dispose();
    }
}
