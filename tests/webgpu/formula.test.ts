// The usual formulas on WebGPU against doubles. Compiling takes most of the time, and the kernel of few rows is compiled
// the fastest. So most of them run there.

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Attention } from "headwise";

import { standardFormulas, type StandardFormula } from "../web/formulaTable.js";
import { oneCondition } from "../web/oneCondition.js";
import { randomTensor } from "../web/randomTensor.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "../web/resultProblems.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

const SHAPES = {
  "few rows": { B: 2, Hq: 4, Hkv: 2, Sq: 2, Skv: 300, D: 16 },
  "whole heads": { B: 1, Hq: 2, Hkv: 1, Sq: 40, Skv: 150, D: 64 },
  "heads in chunks": { B: 1, Hq: 2, Hkv: 2, Sq: 40, Skv: 150, D: 20 },
} as const;
type ShapeName = keyof typeof SHAPES;

/** Entries that also run with many rows. */
const WITH_MANY_ROWS: Readonly<Record<string, readonly ShapeName[]>> = {
  "documents, causal": ["whole heads", "heads in chunks"],
  ALiBi: ["whole heads"],
};

const USUAL = { lse: true, entropy: true } as const;
/** Another kernel computes these, from the same text of the formula. Every third formula runs there too. */
const LOOKS = { ...USUAL, probs: true, topK: 3 } as const;

const rows = (Object.keys(SHAPES) as ShapeName[]).flatMap((shape) =>
  standardFormulas(SHAPES[shape])
    .filter(({ name }) => shape === "few rows" || WITH_MANY_ROWS[name]?.includes(shape))
    .map((entry, n): [string, ShapeName, StandardFormula, typeof USUAL] => [
      entry.name,
      shape,
      entry,
      n % 3 === 0 ? LOOKS : USUAL,
    ]),
);

describeOnGpu("a usual formula on WebGPU", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createOnSharedDevice();
  });
  afterAll(() => hw.dispose());

  test("runs in every kernel", () => {
    const many = Object.values(WITH_MANY_ROWS).flat().length;
    expect(rows.length).toBe(standardFormulas(SHAPES["few rows"]).length + many);
  });

  test("A condition hides the same keys in visible, in score and as a mask, also beyond 2²⁴", () => oneCondition(hw));

  test.each(rows)("%s, %s", async (_, shape, { options, same }, returns) => {
    const { B, Hq, Hkv, Sq, Skv, D } = SHAPES[shape];
    const [query, key, value] = [
      randomTensor(1, [B, Hq, Sq, D], 3),
      randomTensor(2, [B, Hkv, Skv, D], 3),
      randomTensor(3, [B, Hkv, Skv, D]),
    ] as const;
    const result = await hw.scaledDotProductAttention(query, key, value, { ...options, location: "cpu", returns });
    expect(resultProblems(result, returns, referenceAttention(query, key, value, same))).toEqual({});
  });
});
