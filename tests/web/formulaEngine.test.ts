import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createAttention, type Attention, type AttentionOptions } from "headwise";

import { runsOf } from "./depth.js";
import { variants } from "./engines.js";
import { formulaOf, scores, visibles } from "./formulaRandom.js";
import { standardFormulas } from "./formulaTable.js";
import { oneCondition } from "./oneCondition.js";
import { randomTensor } from "./randomTensor.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "./resultProblems.js";

/** Random calls for each variant. */
const RUNS = runsOf(2_000);

const ALL = { probs: true, lse: true, entropy: true, topK: 3 } as const;

const TABLE_SHAPES = {
  small: { B: 2, Hq: 4, Hkv: 2, Sq: 21, Skv: 29 },
  "over several tiles": { B: 1, Hq: 2, Hkv: 1, Sq: 40, Skv: 300 },
  "of one query": { B: 3, Hq: 4, Hkv: 4, Sq: 1, Skv: 70 },
};

function tensorsOf({ B, Hq, Hkv, Sq, Skv }: (typeof TABLE_SHAPES)["small"], D: number, seed = 1) {
  return {
    query: randomTensor(seed, [B, Hq, Sq, D], 3),
    key: randomTensor(seed + 1, [B, Hkv, Skv, D], 3),
    value: randomTensor(seed + 2, [B, Hkv, Skv, D]),
  };
}

type Tensors = ReturnType<typeof tensorsOf>;
type Options = Omit<AttentionOptions, "location" | "into">;

const referenceOf = ({ query, key, value }: Tensors, options: Options) =>
  referenceAttention(query, key, value, options);

describe.each(variants)("variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  const compute = ({ query, key, value }: Tensors, options: Options) =>
    hw.scaledDotProductAttention(query, key, value, { ...options, location: "cpu" });

  test("A condition hides the same keys in visible, in score and as a mask, also beyond 2²⁴", () => oneCondition(hw));

  describe.each(Object.entries(TABLE_SHAPES))(
    "A call that is %s gives with a formula what it gives without",
    (_, shape) => {
      const tensors = tensorsOf(shape, 16);
      test.each(standardFormulas(shape).map((entry) => [entry.name, entry] as const))("%s", async (__, entry) => {
        const expected = referenceOf(tensors, entry.same);
        expect(resultProblems(await compute(tensors, { ...entry.options, returns: ALL }), ALL, expected)).toEqual({});
        const own = referenceOf(tensors, entry.options);
        for (const stage of ["raw", "softcapped", "biased", "formula"] as const) {
          const returns = { output: false, scores: stage };
          expect(resultProblems(await compute(tensors, { ...entry.options, returns }), returns, own)).toEqual({});
        }
      });
    },
  );

  const calls = fc.record({
    shape: fc
      .record({
        B: fc.integer({ min: 1, max: 2 }),
        Hkv: fc.integer({ min: 1, max: 2 }),
        group: fc.integer({ min: 1, max: 2 }),
        Sq: fc.integer({ min: 1, max: 6 }),
        Skv: fc.integer({ min: 1, max: 19 }),
      })
      .map(({ group, ...shape }) => ({ ...shape, Hq: group * shape.Hkv })),
    queryOffset: fc.integer({ min: -3, max: 20 }),
    seed: fc.nat(1000),
    score: fc.option(scores, { nil: undefined }),
    visible: fc.option(visibles, { nil: undefined }),
  });

  test("Random formulas agree with the double reference", async () => {
    let rows = 0;
    let open = 0;
    const agree = async ({
      shape,
      queryOffset,
      seed,
      score,
      visible,
    }: typeof calls extends fc.Arbitrary<infer T> ? T : never) => {
      const tensors = tensorsOf(shape, 4, seed);
      const returns = { ...ALL, scores: "formula" } as const;
      const options = {
        queryOffset,
        returns,
        ...(score && { score: formulaOf(score) }),
        ...(visible && { visible: formulaOf(visible) }),
      };
      const reference = referenceOf(tensors, options);
      rows += reference.openRows.length;
      open += reference.openRows.filter(Boolean).length;
      expect(resultProblems(await compute(tensors, options), returns, reference)).toEqual({});
    };
    await fc.assert(fc.asyncProperty(calls, agree), { numRuns: RUNS, seed: 16 });
    expect(open / rows).toBeLessThan(0.25); // of these rows the reference says nothing
  }, 3_600_000);
});
