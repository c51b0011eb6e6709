import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createAttention, type Attention, type AttentionOptions } from "headwise";
import { formula } from "headwise/formula";

import { bits } from "./close.js";
import { variants } from "./engines.js";
import { formulaOf, scores, visibles } from "./formulaRandom.js";
import { standardFormulas } from "./formulaTable.js";
import { randomTensor } from "./randomTensor.js";
import { referenceAttention, type ReferenceOptions } from "./reference.js";
import { resultProblems } from "./resultProblems.js";

/** Graphs for each variant. The two kinds of formulas share them. */
const RUNS = Number(process.env["HEADWISE_FORMULA_RUNS"] ?? 5_000);

const ALL = { probs: true, lse: true, entropy: true, topK: 3 } as const;

/** The extents of a call, and its tensors. */
function callOf(B: number, Hq: number, Hkv: number, Sq: number, Skv: number, D: number, seed = 1) {
  return {
    query: randomTensor(seed, [B, Hq, Sq, D], 3),
    key: randomTensor(seed + 1, [B, Hkv, Skv, D], 3),
    value: randomTensor(seed + 2, [B, Hkv, Skv, D]),
  };
}

type Call = ReturnType<typeof callOf>;

describe.each(variants)("variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  const compute = ({ query, key, value }: Call, options: AttentionOptions) =>
    hw.scaledDotProductAttention(query, key, value, options);

  /** What differs from the double reference of `expected`. */
  async function problems(call: Call, options: AttentionOptions, expected = options) {
    const reference = referenceAttention(call.query, call.key, call.value, expected as ReferenceOptions);
    return resultProblems(await compute(call, options), options.returns, reference);
  }

  describe.each([
    ["small", { B: 2, Hq: 4, Hkv: 2, Sq: 21, Skv: 29 }, 8],
    ["over several tiles", { B: 1, Hq: 2, Hkv: 1, Sq: 150, Skv: 333 }, 16],
    ["of one query", { B: 3, Hq: 4, Hkv: 4, Sq: 1, Skv: 70 }, 8],
  ])("A call that is %s gives with a formula what it gives without", (_, shape, D) => {
    const { B, Hq, Hkv, Sq, Skv } = shape;
    const call = callOf(B, Hq, Hkv, Sq, Skv, D);
    test.each(standardFormulas(shape).map((entry) => [entry.name, entry] as const))("%s", async (__, entry) => {
      expect(await problems(call, { ...entry.options, returns: ALL }, entry.same)).toEqual({});
      for (const stage of ["raw", "softcapped", "biased", "formula"] as const)
        expect(await problems(call, { ...entry.options, returns: { output: false, scores: stage } })).toEqual({});
    });
  });

  test("random formulas agree with the double reference", async () => {
    const shape = fc.record({
      B: fc.integer({ min: 1, max: 2 }),
      Hkv: fc.integer({ min: 1, max: 2 }),
      group: fc.integer({ min: 1, max: 2 }),
      Sq: fc.integer({ min: 1, max: 6 }),
      Skv: fc.integer({ min: 1, max: 19 }),
      queryOffset: fc.integer({ min: -3, max: 20 }),
      seed: fc.nat(1000),
    });
    let rows = 0;
    let open = 0;
    await fc.assert(
      fc.asyncProperty(
        shape,
        fc.option(scores, { nil: undefined }),
        fc.option(visibles, { nil: undefined }),
        async ({ B, Hkv, group, Sq, Skv, queryOffset, seed }, score, visible) => {
          const call = callOf(B, Hkv * group, Hkv, Sq, Skv, 4, seed);
          const options: AttentionOptions = {
            queryOffset,
            returns: { ...ALL, scores: "formula" },
            ...(score && { score: formulaOf(score) }),
            ...(visible && { visible: formulaOf(visible) }),
          };
          const reference = referenceAttention(call.query, call.key, call.value, options as ReferenceOptions);
          rows += reference.openRows.length;
          open += reference.openRows.filter(Boolean).length;
          expect(resultProblems(await compute(call, options), options.returns, reference)).toEqual({});
        },
      ),
      { numRuns: RUNS, seed: 16 },
    );
    expect(open / rows).toBeLessThan(0.25);
  }, 3_600_000);
});
