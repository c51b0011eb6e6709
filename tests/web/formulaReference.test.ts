import { describe, expect, test } from "@jest/globals";

import { differences } from "./close.js";
import { evaluator, exactly, type Outcome } from "../attention-conformance/reference/formulaReference.js";
import { standardFormulas } from "./formulaTable.js";
import { textOf, treeOf } from "../attention-conformance/reference/formulaText.js";
import { randomTensor } from "./randomTensor.js";
import { referenceAttention, type Expected } from "../attention-conformance/reference/reference.js";

const shape = { B: 2, Hq: 4, Hkv: 2, Sq: 21, Skv: 29 };
const query = randomTensor(1, [2, 4, 21, 8], 3);
const key = randomTensor(2, [2, 2, 29, 8], 3);
const value = randomTensor(3, [2, 2, 29, 6]);

describe("The double reference gives with a formula what it gives without", () => {
  test.each(standardFormulas(shape).map((entry) => [entry.name, entry] as const))("%s", (_, { options, same }) => {
    const [byFormula, expected] = [options, same].map((each) => referenceAttention(query, key, value, each as object));
    expect(byFormula!.openRows.includes(1)).toBe(false);
    expect(byFormula!.visibleKeys).toEqual(expected!.visibleKeys);
    for (const part of ["output", "probs", "lse", "entropy"] as const)
      expect(
        differences({ data: Float32Array.from(byFormula![part].values) }, within(expected![part], byFormula![part])),
      ).toEqual([]);
  });
});

/** Expected values with the tolerances of both, and of rounding to float32. */
function within({ values, tolerance }: Expected, other: Expected): Expected {
  return { values, tolerance: tolerance.map((own, k) => own + other.tolerance[k]! + 1e-6 * Math.abs(values[k]!)) };
}

describe("The reference of formulas", () => {
  const at = (
    text: string,
    variables: Record<string, number | Outcome> = {},
    parameters: Record<string, unknown> = {},
  ) => {
    const names = Object.keys(parameters);
    const evaluate = evaluator({
      text,
      graph: { parameters: names.map((name) => ({ name })) },
      values: names.map((name) => parameters[name] as number),
    });
    const outcomes = Object.entries(variables).map(([name, x]) => [name, typeof x === "number" ? exactly(x) : x]);
    return evaluate(Object.fromEntries(outcomes) as Record<string, Outcome>);
  };

  const { abs, floor, max, min, sign } = Math;
  const clamp = (x: number, low: number, high: number) => min(max(x, low), high);

  test.each<[string, (q: number, k: number) => number | boolean]>([
    ["1 + 2 * 3 - 4 % 3", () => 1 + 2 * 3 - (4 % 3)],
    ["k <= q && q - k < 5 || !(k == 3)", (q, k) => (k <= q && q - k < 5) || !(k == 3)],
    ["(k < q ? 1 : k > q ? 2 : 3) * -q", (q, k) => (k < q ? 1 : k > q ? 2 : 3) * -q],
    ["min(k, q, 3) + max(k, 2) - abs(k - q)", (q, k) => min(k, q, 3) + max(k, 2) - abs(k - q)],
    ["floor(q / 3) * sign(k - q) + clamp(k, 1, 3)", (q, k) => floor(q / 3) * sign(k - q) + clamp(k, 1, 3)],
    ["(q && k) + (q || k) + (k % 2 && 7)", (q, k) => (q && k) + (q || k) + (k % 2 && 7)],
    ["q - k - 1 < 2 == true", (q, k) => q - k - 1 < 2 == true],
    ["Infinity - k", (_, k) => Infinity - k],
    ["0 / 0 == 0 / 0", () => false],
    ["q != NaN", () => true],
    ["(q - 3) % 2 + k % (q + 1)", (q, k) => ((q - 3) % 2) + (k % (q + 1))],
  ])("is JavaScript where numbers are whole: %s", (text, script) => {
    for (let q = 0; q < 6; ++q)
      for (let k = 0; k < 6; ++k) expect(at(text, { q, k })).toEqual(exactly(Number(script(q, k))));
  });

  test("knows how far float32 may err", () => {
    const third = at("q / 3", { q: 1 });
    expect(third.low).toBeLessThan(1 / 3);
    expect(third.high).toBeGreaterThan(1 / 3);
    expect(third.high - third.low).toBeLessThan(1e-6);
    expect(at("floor(q / 3)", { q: 14 })).toEqual(exactly(4));
    expect(at("exp(s) > 1", { s: { low: -1e-7, high: 1e-7, nan: "never" } })).toEqual({
      low: 0,
      high: 1,
      nan: "never",
    });
    expect(at("s > 1 ? -Infinity : s", { s: { low: 0.9, high: 1.1, nan: "never" } })).toMatchObject({
      low: -Infinity,
      high: 1.1,
    });
  });

  test("reads 0 outside of a table", () => {
    const parameters = { t: { data: [5, 6, 7], extents: [3] }, m: { data: [1, 2, 3, 4], extents: [2, 2] } };
    const read = [-1, -0.5, 0, 1.9, 2, 3, NaN, Infinity].map((x) => at("t[x]", { x }, parameters).low);
    expect(read).toEqual([0, 0, 5, 6, 7, 0, 0, 0]);
    expect(at("m[1][0] + m[0][2]", {}, parameters)).toEqual(exactly(3));
    expect(at("t[x]", { x: { low: 0.9, high: 2.1, nan: "never" } }, parameters)).toEqual({
      low: 5,
      high: 7,
      nan: "never",
    });
  });

  test("propagates NaN, and compares it with nothing", () => {
    for (const text of ["NaN + 1", "min(1, NaN)", "sqrt(-1)", "log(-1)", "0 * Infinity", "Infinity % 2", "5 % 0"])
      expect(at(text).nan).toBe("always");
    for (const text of ["NaN < 1", "NaN >= 1", "NaN == NaN", "!!NaN"]) expect(at(text)).toEqual(exactly(0));
    expect(at("NaN != NaN")).toEqual(exactly(1));
    expect(at("NaN ** 0")).toEqual(exactly(1));
  });

  test("writes trees that it reads again", () => {
    for (const text of ["-(a[1][k] ** 2) % 3 < (q ? 1 : -2.5e-7)", "!(a && b || min(c, 1, NaN) >= 0)"]) {
      const tree = treeOf(text);
      expect(treeOf(textOf(tree))).toEqual(tree);
    }
  });
});
