import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention, type Tensor } from "headwise";

import { attentionCases, word, type AttentionCase } from "./cases.js";
import { bits } from "./close.js";
import { variants } from "./engines.js";
import { referenceAttention, type ReferenceResult } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "./resultProblems.js";

const cases = attentionCases();
const references = new Map<string, ReferenceResult>();

/** The result of the double-precision reference for a case, computed once for all engines. */
function referenceOf({ name, query, key, value, options }: AttentionCase): ReferenceResult {
  let reference = references.get(name);
  if (!reference) references.set(name, (reference = referenceAttention(query, key, value, options)));
  return reference;
}

test("the case table's numbers are those that its README names", () => {
  const words = [word(1, 1, 0), word(1, 1, 1), word(1, 2, 0), word(4000000000, 3, 1000000)];
  expect(words.map((x) => x.toString(16))).toEqual(["c5f64a98", "c965c8b3", "5c5f30ab", "63092206"]);
});

describe.each(variants)("variant %s", (variant) => {
  let one: Attention;
  let two: Attention;

  beforeAll(async () => {
    one = await createAttention({ backend: "wasm", variant, threads: 1 });
    two = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => {
    one.dispose();
    two.dispose();
  });

  test("each instance says what it runs", () => {
    expect([one.report.variant, one.report.threads]).toEqual([variant, 1]);
    expect([two.report.variant, two.report.threads]).toEqual([variant, 2]);
  });

  test.each(cases)("$name is within the error model, with the same bits on 1 and 2 threads", async (example) => {
    const { query, key, value, options } = example;
    const result = await one.scaledDotProductAttention(query, key, value, options);
    expect(resultProblems(result, options.returns, referenceOf(example))).toEqual({});
    expect(bits(await two.scaledDotProductAttention(query, key, value, options))).toEqual(bits(result));
  });

  test.each(["BHSD", "BSHD"] as const)(
    "%s: inputs that are copied while threads compute give the same bits",
    async (layout) => {
      const extents = (heads: number, length: number) => (layout === "BHSD" ? [heads, length] : [length, heads]);
      const [query, key, value] = [6, 3, 3].map((heads, n) => {
        const shape = [2, ...extents(heads, 200), 64];
        const data = Float32Array.from({ length: 2 * heads * 200 * 64 }, (_, i) => Math.sin(i * (n + 1)));
        return { data, shape };
      }) as unknown as [Tensor<"float32">, Tensor<"float32">, Tensor<"float32">];
      const expected = bits(await one.scaledDotProductAttention(query, key, value, { layout, causal: true }));
      for (let call = 0; call < 20; call++)
        expect(bits(await two.scaledDotProductAttention(query, key, value, { layout, causal: true }))).toEqual(
          expected,
        );
    },
  );
});
