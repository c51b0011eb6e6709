import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, OptionError, ShapeError, type Attention } from "headwise";
import { createAttention as createInWorker } from "headwise/worker";

import { randomTensor } from "./randomTensor.js";
import { errorOf } from "./refusal.js";

const query = randomTensor(1, [2, 4, 3, 8]);
const key = randomTensor(2, [2, 2, 5, 8]);
const value = randomTensor(3, [2, 2, 5, 6]);
const returns = { output: false, topK: 2, probs: true, lse: true, entropy: true, scores: "raw" } as const;

describe.each([
  ["wasm", () => createAttention({ backend: "wasm", threads: 1 })],
  ["wasm in a worker", () => createInWorker({ backend: "wasm", threads: 1 })],
] as const)("a call without values on %s", (_, create) => {
  let hw: Attention;
  beforeAll(async () => (hw = await create()));
  afterAll(() => hw.dispose());

  test("gives the weights of the call with values, bit for bit", async () => {
    const options = { returns, causal: true } as const;
    const without = await hw.scaledDotProductAttention(query, key, undefined, options);
    expect(without).not.toHaveProperty("output");
    expect(without).toEqual(await hw.scaledDotProductAttention(query, key, value, options));
  });

  test("is refused if its output is wanted", async () => {
    for (const wanted of [undefined, { lse: true }, { output: true, lse: true }]) {
      const error = await errorOf(hw.scaledDotProductAttention(query, key, undefined as never, { returns: wanted }));
      expect(error.message).toMatch(/^scaledDotProductAttention: value must be /);
    }
  });

  test("still checks values that are given", async () => {
    const short = randomTensor(4, [2, 2, 4, 6]);
    expect(ShapeError.is(await errorOf(hw.scaledDotProductAttention(query, key, short, { returns })))).toBe(true);
    const none = null as never;
    expect(OptionError.is(await errorOf(hw.scaledDotProductAttention(query, key, none, { returns })))).toBe(true);
  });
});

test("a call without values needs no memory for them", async () => {
  const hw = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 64 << 20 });
  const long = randomTensor(5, [1, 1, 120_000, 64]);
  const { topK } = await hw.scaledDotProductAttention(randomTensor(6, [1, 1, 1, 64]), long, undefined, {
    returns: { output: false, topK: 10 },
  });
  const error = await errorOf(
    hw.scaledDotProductAttention(randomTensor(6, [1, 1, 1, 64]), long, long, { returns: { output: false, topK: 10 } }),
  );
  expect(topK.indices.shape).toEqual([1, 1, 1, 10]);
  expect(error.name).toBe("OutOfMemoryError");
  hw.dispose();
});
