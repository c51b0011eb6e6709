import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { variants } from "./engines.js";
import { expectLayoutsToMix } from "./layouts.js";
import { randomTensor } from "./randomTensor.js";

describe.each(variants)("kvLayout, variant %s:", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  test("every layout of queries beside every layout of keys and values gives the same bits", () =>
    expectLayoutsToMix(hw));

  test("float16 keys beside float32 queries, and ranks that differ", async () => {
    const q = randomTensor(1, [3, 8]); // one head, [S, D]
    const k = { data: Uint16Array.from({ length: 32 }, (_, n) => 0x3800 + n), shape: [1, 4, 8] };
    const expected = await hw.scaledDotProductAttention(q, { ...k, shape: [4, 8] }, { ...k, shape: [4, 8] });
    const { output } = await hw.scaledDotProductAttention(q, k, k, { kvLayout: "BSE" });
    expect(output).toEqual(expected.output);
  });

  test.each<[what: string, k: number[], v: number[], options: object, message: string]>([
    [
      "heads that do not divide",
      [1, 4, 24],
      [1, 4, 24],
      { numKvHeads: 3 },
      "numKvHeads must divide numHeads, got 3 and 2",
    ],
    ["ranks of key and value", [1, 4, 16], [1, 4, 2, 8], {}, "value must have the rank of key, got shapes [1, 4, 2, 8] and [1, 4, 16]"], // oxfmt-ignore
    ["lengths of key and value", [1, 4, 16], [1, 5, 16], {}, "value.shape[1] (length) must equal key.shape[1], got 5 and 4"], // oxfmt-ignore
    ["widths", [1, 4, 12], [1, 4, 16], {}, "key.shape[2] (headDim) must equal query.shape[3], got 6 and 8"],
    ["an unknown layout", [1, 4, 16], [1, 4, 16], { kvLayout: "BSHE" }, 'kvLayout must be "BHSD" or "BSHD" or "BSE" or "BES", got "BSHE"'], // oxfmt-ignore
    ["a ragged batch", [1, 16, 4], [1, 16, 4], { layout: "BSHD", kvLayout: "BES", cuSeqLensQuery: [0, 2], cuSeqLensKey: [0, 4] }, 'kvLayout must be "BSHD" or "BSE" for a ragged batch, got "BES"'], // oxfmt-ignore
  ])("refuses %s by the axes of each layout", async (_what, k, v, options, message) => {
    const call = hw.scaledDotProductAttention(randomTensor(1, [1, 2, 2, 8]), randomTensor(2, k), randomTensor(3, v), {
      kvLayout: "BSE",
      ...options,
    });
    await expect(call).rejects.toThrow(message);
  });

  test("warms up", async () => {
    const shape = { numHeads: 4, numKvHeads: 2, queryLength: 3, headDim: 8 };
    await hw.warmup(shape, { layout: "BHSD", kvLayout: "BSE" });
    await hw.warmup(shape, { layout: "BES", kvLayout: "BSHD" });
  });
});
