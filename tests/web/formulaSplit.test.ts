import "./asBuilt.js";

import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";

import { expressionOf } from "../../web/src/formula/expression.js";
import { formula, type Parameters } from "../../web/src/formula/formula.js";
import type { FormulaData, SplitVisible } from "../../web/src/formula/graph.js";
import { splitVisible } from "../../web/src/formula/splitVisible.js";
import { evaluator, exactly, truthOf } from "../attention-conformance/reference/formulaReference.js";
import { runsOf } from "./depth.js";
import { formulaOf, scores, visibles } from "./formulaRandom.js";

/** A split as text: "1 k + integer <= limit" for each bound, then the rest. */
function written(text: string, parameters: Parameters = {}): string[] {
  const { graph } = formula(text, parameters);
  const split = splitVisible(graph);
  const of = (node: number | undefined) =>
    node === undefined ? "0" : expressionOf({ nodes: split.nodes, parameters: graph.parameters }, node);
  const bounds = split.bounds.map(
    ({ axis, coefficient, integer, limit, strict }) =>
      `${coefficient} ${axis} + ${of(integer)} ${strict ? "<" : "<="} ${of(limit)}`,
  );
  return split.rest === undefined ? bounds : [...bounds, of(split.rest)];
}

describe("What limits the keys of a row becomes a bound:", () => {
  test.each<[string, string[]]>([
    ["k <= q", ["1 k + 0 <= q"]],
    ["k < q", ["1 k + 0 < q"]],
    ["q >= k", ["1 k + 0 <= q"]],
    ["!(k > q)", ["1 k + 0 <= q"]],
    ["j <= i + 3", ["1 j + 0 <= i + 3"]],
    ["q - k < 8", ["-1 k + q < 8"]],
    ["q - k < fraction", ["-1 k + q < fraction"]],
    ["k >= q - fraction", ["-1 k + 0 <= -(q - fraction)"]],
    ["k < length[b]", ["1 k + 0 < length[b]"]],
    ["abs(q - k) <= 3", ["-1 k + q <= 3", "1 k + -q <= 3"]],
    ["k == q", ["1 k + 0 <= q", "-1 k + 0 <= -q"]],
    ["2 * k + 1 <= 3 * q - k", ["3 k + 1 - 3 * q <= 0"]],
    ["k <= q && q - k < 8 && k >= 2", ["1 k + 0 <= q", "-1 k + q < 8", "-1 k + 0 <= -2"]],
    ["doc[q] == doc[k] && k <= q", ["1 k + 0 <= q", "doc[q] == doc[k]"]],
    ["seen[k] && k <= q", ["1 k + 0 <= q", "0 < abs(seen[k])"]],
    ["k <= q ? seen[k] : 0", ["1 k + 0 <= q", "0 < abs(seen[k])"]],
    ["!(k > q || k < 2)", ["1 k + 0 <= q", "-1 k + 0 <= -2"]],
    ["k < Infinity", ["1 k + 0 < Infinity"]],
    ["k <= NaN", ["1 k + 0 <= 0 / 0"]],
  ])("%s", (text, parts) => {
    const parameters = {
      fraction: 2.5,
      length: [3, 4],
      seen: [1, 0],
      doc: new Int32Array([0, 1]),
    };
    expect(written(text, parameters)).toEqual(parts);
  });

  test.each([
    "k <= q || k < 4",
    "k != q",
    "k * 0.5 <= q",
    "k * h <= q",
    "k + j <= q",
    "k % 3 == 0",
    "floor(k / 4) == floor(q / 4)",
    "k + fraction <= q",
    "k + q * 5000 <= 25000000",
    "5 * k - q <= 0",
    "k * 4096 * 4096 * 4096 <= q",
    "k",
    "t[k] <= t[q]",
  ])("but not %s", (text) => {
    expect(splitVisible(formula(text, { fraction: 2.5, t: [1] }).graph).bounds).toEqual([]);
  });

  test("All pairs and no pair have neither a bound nor a variable", () => {
    expect(written("true")).toEqual([]);
    expect(written("1 < 2 || k < q")).toEqual([]);
    expect(written("false")).toEqual(["0"]);
  });
});

/** Whether a split shows a key. */
function isShown({ graph, values }: FormulaData, split: SplitVisible, variables: Record<string, number>): boolean {
  const valueOf = (node: number | undefined): number => {
    if (node === undefined) return 0;
    const text = expressionOf({ nodes: split.nodes, parameters: graph.parameters }, node);
    const outcomes = Object.entries(variables).map(([name, x]) => [name, exactly(x)]);
    const { low, high, nan } = evaluator({ text, graph, values })(Object.fromEntries(outcomes) as never);
    if (nan === "always") return NaN;
    if (low !== high) throw new Error("open");
    return low;
  };
  return (
    split.bounds.every(({ axis, coefficient, integer, limit, strict }) => {
      const [x, most] = [coefficient * variables[axis]! + valueOf(integer), valueOf(limit)];
      return strict ? x < most : x <= most;
    }) &&
    (split.rest === undefined || valueOf(split.rest) !== 0)
  );
}

test("A split shows the keys that the formula shows", () => {
  let compared = 0;
  fc.assert(
    fc.property(visibles, fc.nat(9), fc.nat(9), ({ text, parameters }, q, k) => {
      const given = formula(text, { ...parameters });
      const split = splitVisible(given.graph);
      expect(split.nodes.length).toBeLessThanOrEqual(256);
      const variables = { q, k, i: q, j: k, h: 1, g: 0, b: 1, Sq: 9, Skv: 9, D: 4 };
      const outcomes = Object.entries(variables).map(([name, x]) => [name, exactly(x)]);
      const expected = truthOf(evaluator(given)(Object.fromEntries(outcomes) as never));
      if (expected === undefined || expressionOf(given.graph, given.graph.result).includes("…")) return;
      try {
        expect(isShown(given, split, variables)).toBe(expected);
        ++compared;
      } catch (error) {
        if ((error as Error).message !== "open") throw error;
      }
    }),
    { numRuns: runsOf(5000), seed: 16 },
  );
  expect(compared).toBeGreaterThan(runsOf(5000) / 2);
});

test("A simplified graph means what its text means", () => {
  fc.assert(
    fc.property(fc.oneof(scores, visibles), fc.nat(9), fc.nat(9), fc.float(), (random, q, k, s) => {
      const given = formulaOf(random);
      const simplified = expressionOf(given.graph, given.graph.result);
      fc.pre(!simplified.includes("…"));
      const variables = { s, q, k, i: q, j: k, h: 1, g: 0, b: 1, Sq: 9, Skv: 9, D: 4 };
      const outcomes = Object.fromEntries(Object.entries(variables).map(([name, x]) => [name, exactly(x)]));
      const [a, b] = [given, { ...given, text: simplified }].map((each) => evaluator(each)(outcomes));
      if (a!.nan === "never" || b!.nan === "never")
        expect(Math.max(a!.low, b!.low) <= Math.min(a!.high, b!.high)).toBe(true);
      else expect([a!.nan, b!.nan]).not.toEqual(["always", "never"]);
    }),
    { numRuns: runsOf(5000), seed: 16 },
  );
});
