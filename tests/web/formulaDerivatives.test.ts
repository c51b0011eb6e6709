import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { formula, type Formula } from "headwise/formula";

import { readDerivatives, scoreDerivatives } from "../../web/src/formula/derivatives.js";
import type { FormulaData, Node } from "../../web/src/formula/graph.js";
import { gradientEvaluator, isStated } from "../attention-conformance/reference/formulaGradients.js";
import { exactly, type Outcome } from "../attention-conformance/reference/formulaReference.js";
import { runsOf } from "./depth.js";
import { formulaOf, scores } from "./formulaRandom.js";

type Numbers = Readonly<Record<string, number>>;

const HERE: Numbers = { s: 0.75, q: 5, k: 3, i: 2, j: 3, h: 1, g: 0, b: 1, Sq: 4, Skv: 8, D: 16 };

const { floor, max, min } = Math;

const COMPUTE: Readonly<Partial<Record<Node["op"], (a: number, b: number, c: number) => number>>> = {
  negate: (a) => -a,
  abs: Math.abs,
  floor,
  sign: Math.sign,
  sqrt: Math.sqrt,
  exp: Math.exp,
  log: Math.log,
  tanh: Math.tanh,
  sin: Math.sin,
  cos: Math.cos,
  not: (a) => Number(a === 0),
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  remainder: (a, b) => a % b,
  power: (a, b) => a ** b,
  minimum: (a, b) => min(a, b),
  maximum: (a, b) => max(a, b),
  less: (a, b) => Number(a < b),
  lessOrEqual: (a, b) => Number(a <= b),
  equal: (a, b) => Number(a === b),
  notEqual: (a, b) => Number(a !== b),
  and: (a, b) => Number(a !== 0 && b !== 0),
  or: (a, b) => Number(a !== 0 || b !== 0),
  select: (a, b, c) => (a !== 0 ? b : c),
};

/** The value of every node, in double precision. */
function valuesOf(nodes: readonly Node[], { values }: FormulaData, variables: Numbers): number[] {
  const found: number[] = [];
  for (const { op, of, value, variable, slot } of nodes) {
    const [a = NaN, b = NaN, c = NaN] = of.map((operand) => found[operand]!);
    const parameter = values[slot ?? -1];
    if (value !== undefined) found.push(value);
    else if (variable !== undefined) found.push(variables[variable]!);
    else if (typeof parameter === "number") found.push(parameter);
    else if (parameter) found.push(parameter.data[placeIn(parameter.extents, [a, b].slice(0, of.length)) ?? -1] ?? 0);
    else found.push(COMPUTE[op]!(a, b, c));
  }
  return found;
}

/** The place of an element; undefined outside of the table. */
function placeIn(extents: readonly number[], indices: readonly number[]): number | undefined {
  const isInside = indices.every((index, axis) => floor(index) >= 0 && floor(index) < extents[axis]!);
  return isInside ? indices.reduce((place, index, axis) => place * extents[axis]! + floor(index), 0) : undefined;
}

/** All derivatives at a place: by `"s"`, and by each number or element that is read there. */
function derivativesOf(made: Formula, variables: Numbers): Map<string, number> {
  const { nodes, byScore, reads } = scoreDerivatives(made.graph);
  const values = valuesOf(nodes, made, variables);
  const found = new Map([["s", values[byScore]!]]);
  for (const { slot, derivative, row, column } of reads) {
    const { name } = made.graph.parameters[slot]!;
    const parameter = made.values[slot]!;
    const indices = [row, column].filter((index) => index !== undefined).map((index) => values[index]!);
    const place = typeof parameter === "number" ? undefined : placeIn(parameter.extents, indices);
    if (typeof parameter !== "number" && place === undefined) continue;
    const source = place === undefined ? name : `${name}[${place}]`;
    found.set(source, (found.get(source) ?? 0) + values[derivative]!);
  }
  return found;
}

function derivative(text: string, parameters: Parameters<typeof formula>[1] = {}, variables: Numbers = {}) {
  return Object.fromEntries(derivativesOf(formula(text, parameters), { ...HERE, ...variables }));
}

/** The derivatives as nodes, written as a text. */
function written(text: string, parameters: Parameters<typeof formula>[1] = {}): string {
  const { nodes, byScore } = scoreDerivatives(formula(text, parameters).graph);
  const text_ = (index: number): string => {
    const { op, of, value, variable, slot } = nodes[index]!;
    const name = String(value ?? variable ?? (slot === undefined ? op : `${op}${slot}`));
    return of.length === 0 ? name : `${name}(${of.map(text_).join(", ")})`;
  };
  return text_(byScore);
}

describe("the derivative by the score", () => {
  test.each([
    ["s", "1"],
    ["3", "0"],
    ["s - abs(q - k)", "1"],
    ["2 * s", "2"],
    ["s * s", "add(s, s)"],
    ["s ** 3", "multiply(3, power(s, 2))"],
    ["exp(s)", "exp(s)"],
    ["log(s)", "divide(1, s)"],
    ["floor(s) + sign(s) + (s < 3)", "0"],
    ["k <= q ? s : -Infinity", "lessOrEqual(k, q)"],
    ["k <= q ? 2 * s : 1", "select(lessOrEqual(k, q), 2, 0)"],
  ])("of %s is %s", (text, expected) => {
    expect(written(text).replace("power(s, 2)", "multiply(s, s)")).toBe(
      expected.replace("power(s, 2)", "multiply(s, s)"),
    );
  });

  test("a formula that does not read the score has the derivative 0", () => {
    expect(derivative("q - k").s).toBe(0);
  });
});

describe("kinks:", () => {
  test.each([-1, 0, 1])("abs at %d", (s) => expect(derivative("abs(s)", {}, { s }).s).toBe(s));
  test.each(["max(s, a)", "max(a, s)", "min(s, a)", "min(a, s)"])(
    "of equal operands %s has the mean of both derivatives, whichever the text names first",
    (text) => expect(derivative(text, { a: 0.75 })).toEqual({ s: 0.5, a: 0.5 }),
  );
  test.each(["max(s, 3 * s - 1.5)", "max(3 * s - 1.5, s)", "min(s + s + s - 1.5, s)"])(
    "%s has the slope 2 where both are equal",
    (text) => expect(derivative(text, {}, { s: 0.75 })).toEqual({ s: 2 }),
  );
  test.each([
    [-2, { s: 0, low: 1, high: 0 }],
    [0.5, { s: 1, low: 0, high: 0 }],
    [3, { s: 0, low: 0, high: 1 }],
  ])("clamp at %d", (s, expected) => {
    expect(derivative("clamp(s, low, high)", { low: -1, high: 2 }, { s })).toEqual(expected);
  });
  test("x ** y at x = 0 and at y = 0", () => {
    expect(derivative("s ** y", { y: 2.5 }, { s: 0 })).toEqual({ s: 0, y: 0 });
    expect(derivative("s ** y", { y: 0 }, { s: 0 })).toEqual({ s: 0, y: 0 });
    expect(derivative("s ** y", { y: 1 }, { s: 0 })).toEqual({ s: 1, y: 0 });
  });
  test.each([
    ["sqrt(max(s, 0))", {}, { s: 0 }],
    ["sqrt(clamp(s, low, 1))", { low: 0 }, { s: 0, low: Infinity }],
    ["max(s, 0) ** y", { y: 0.5 }, { s: 0, y: 0 }],
    ["pow(s > 0 ? s * a : 0, 0.5)", { a: 2 }, { s: 0, a: 0 }],
    ["exp(2 * log(max(s, 0)))", {}, { s: 0 }],
    ["exp(-1 / max(s, 0))", {}, { s: 0 }],
  ])("%s does not change with s where its operand does not, also where it is infinitely steep", (...given) => {
    const [text, parameters, expected] = given;
    expect(derivative(text, parameters, { s: -0.5 })).toEqual(expected);
  });
  test.each([
    ["s / (1 + exp(-s))", { s: 0 }],
    ["q + s / (1 + exp(s * s))", { s: 0 }],
    ["s + tanh(exp(-s))", { s: 1 }],
    ["exp(-exp(-s))", { s: 0 }],
  ])("of %s where exp overflows is %p", (text, expected) => {
    expect(derivative(text, {}, { s: -1000 })).toEqual(expected);
  });
  test("a branch that is not taken has no effect, even if its derivative is NaN", () => {
    expect(derivative("s > 0 ? s : a * log(s * s) / sqrt(s)", { a: 2 }, { s: 0.5 })).toEqual({ s: 1, a: 0 });
    expect(derivative("s == 0 ? a : a / s", { a: 2 }, { s: 0 })).toEqual({ s: 0, a: 1 });
  });
});

describe("parameters:", () => {
  test("numbers, lists and tables, each at the place that was read", () => {
    const parameters = { c: 3, slope: [0.5, 0.25], t: [[1, 2, 3], [4, 5, 6]] }; // oxfmt-ignore
    expect(derivative("c * s + slope[h] * abs(q - k) + 2 * t[b][q - k]", parameters)).toEqual({
      s: 3,
      c: 0.75,
      "slope[1]": 2,
      "t[5]": 2,
    });
  });
  test("a table that is read twice at one place", () => {
    expect(derivative("s + t[h] + 2 * t[j - 2]", { t: [1, 2, 3] })).toEqual({ s: 1, "t[1]": 3 });
  });
  test("outside of a table there is nothing", () => {
    expect(derivative("s + t[q]", { t: [1, 2, 3] })).toEqual({ s: 1 });
  });
  test("an index is rounded down and has no derivative", () => {
    expect(derivative("s + t[s + c]", { t: [1, 2, 3], c: 1 })).toEqual({ s: 1, "t[1]": 1, c: 0 });
  });
  test("one read for each place in the text that differs", () => {
    const { reads } = scoreDerivatives(formula("s * w[h] + w[h] + w[b]", { w: [1, 2] }).graph);
    expect(reads.map(({ slot, row }) => [slot, row])).toEqual([[0, undefined], [0, undefined]]); // oxfmt-ignore
  });
});

test("a graph is differentiated once, also for other values of its parameters", () => {
  const made = formula("c * s", { c: 2 });
  expect(scoreDerivatives(made.with({ c: 3 }).graph)).toBe(scoreDerivatives(made.graph));
});

test("more than 1024 operations are refused with their number and the formula", () => {
  const names = Array.from({ length: 60 }, (_, n) => `p${n}`);
  const text = names.reduce((inner, name) => `tanh(${inner} * ${name})`, "s");
  const made = formula(text, Object.fromEntries(names.map((name) => [name, 1.5])));
  expect(() => readDerivatives("attentionBackward", made)).toThrow(
    /^attentionBackward: the derivatives of score must have at most 1024 operations, got \d{4}: tanh\(/,
  );
});

test("random formulas: every derivative lies in the range that the definition allows", () => {
  fc.assert(
    fc.property(scores, fc.integer({ min: -64, max: 64 }), fc.nat(15), fc.nat(15), (random, s16, q, k) => {
      const made = formulaOf(random);
      const variables = { ...HERE, s: s16 / 16, q, k };
      const ranges = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, exactly(value)]));
      const { by } = gradientEvaluator(made)(ranges);
      const found = derivativesOf(made, variables);
      const slack = ({ low, high }: Outcome) => high - low + 1e-6 * max(Math.abs(low), Math.abs(high));
      for (const [source, range] of by) {
        if (!isStated(range)) continue;
        const value = found.get(source);
        if (value === undefined || !(value >= range.low - slack(range) && value <= range.high + slack(range)))
          throw new Error(
            `d/d${source} of ${made.text} at s = ${variables.s} is ${value}, not ${range.low} to ${range.high}`,
          );
      }
    }),
    { numRuns: runsOf(1000), seed: 17 },
  );
});
