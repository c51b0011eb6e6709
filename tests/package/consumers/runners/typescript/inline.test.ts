import { expect, test } from "@jest/globals";
import { createAttention, tensor, type Attention } from "headwise/inline";

test("headwise/inline computes, with its types", async () => {
  const hw: Attention = await createAttention();
  const x = tensor(new Float32Array([1, 0, 0, 1]), [2, 2]);
  const { probs } = await hw.scaledDotProductAttention(x, x, x, { causal: true, returns: { probs: true } });
  const data: Float32Array = probs.data;
  expect(Array.from(data.slice(0, 2))).toEqual([1, 0]);
  hw.dispose();
});
