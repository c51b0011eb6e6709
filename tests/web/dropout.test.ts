import { describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";

import { bits } from "./close.js";
import { dropoutUse, expectKnownAnswers } from "./dropoutUse.js";
import { variants } from "./engines.js";
import { inLayout } from "./layouts.js";
import { randomTensor } from "./randomTensor.js";

test("the reference has the known answers of Random123", expectKnownAnswers);

const ENGINES: readonly [name: string, open: () => Promise<Attention>][] = [
  ...variants.flatMap((variant) =>
    [1, 2].map((threads): [string, () => Promise<Attention>] => [
      `${variant}, ${threads} threads`,
      () => createAttention({ backend: "wasm", variant, threads }),
    ]),
  ),
  ["inline", () => createInline()],
  ["worker", () => createInWorker({ backend: "wasm", threads: 1 })],
];

describe.each(ENGINES)("%s:", (_, open) => {
  test.each(Object.entries(dropoutUse))("%s", async (_name, use) => {
    const hw = await open();
    try {
      await use(hw);
    } finally {
      hw.dispose();
    }
  });
});

test("one and two threads, and every layout, have the same bits", async () => {
  const tensors = [1, 2, 3].map((seed) => randomTensor(seed, [2, 4, 70, 8]));
  const options = { dropout: { rate: 0.2, seed: 11 }, causal: true, returns: { output: true, probs: true } } as const;
  const results = await Promise.all(
    [1, 2].map(async (threads) => {
      const hw = await createAttention({ backend: "wasm", threads });
      const [q, k, v] = tensors as [(typeof tensors)[0], (typeof tensors)[0], (typeof tensors)[0]];
      const plain = await hw.scaledDotProductAttention(q, k, v, options);
      const [q2, k2, v2] = [q, k, v].map((each) => inLayout(each, "BSHD"));
      const turned = await hw.scaledDotProductAttention(q2!, k2!, v2!, { ...options, layout: "BSHD" });
      hw.dispose();
      return [bits(plain), bits(turned.probs), bits(plain.probs)];
    }),
  );
  expect(results[1]).toEqual(results[0]);
  expect(results[0]![1]).toEqual(results[0]![2]);
});
