import "./asBuilt.js";

import { Script } from "node:vm";

import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";

import { HeadwiseError } from "../../web/src/base/errors.js";
import { expressionOf } from "../../web/src/formula/expression.js";
import { formula, type Formula, type Parameters } from "../../web/src/formula/formula.js";
import { type FormulaError } from "../../web/src/formula/formulaError.js";
import { OPERATIONS, VARIABLES, isBoolean, type Graph, type Table } from "../../web/src/formula/graph.js";
import { runsOf } from "./depth.js";

/** The expression of a formula after it was simplified. */
function simplified(text: string, parameters: Parameters = {}): string {
  const { graph } = formula(text, parameters);
  return expressionOf(graph, graph.result);
}

function errorOf(text: string, parameters?: Parameters): FormulaError {
  try {
    formula(text, parameters);
  } catch (error) {
    return error as FormulaError;
  }
  throw new Error(`${text} was accepted`);
}

/** The first line of a message, and the character that it points at. */
function fault(text: string, parameters?: Parameters): [string, number] {
  const error = errorOf(text, parameters);
  const [problem, line, caret] = error.message.split("\n");
  expect(caret!.indexOf("^")).toBe(line!.length === 2 ? 2 : caret!.length - 1);
  return [problem!.replace("formula: ", ""), error.position];
}

describe("A formula", () => {
  test("becomes operations on variables, parameters and tables", () => {
    const { graph, values, text } = formula("s - slope[h] * abs(q - k)", { slope: new Float32Array([0.5, 0.25]) });
    expect(text).toBe("s - slope[h] * abs(q - k)");
    expect(graph.nodes.map(({ op }) => op)).toEqual(
      ["variable", "variable", "table1", "variable", "variable", "subtract", "abs", "multiply", "subtract"], // oxfmt-ignore
    );
    expect(graph.parameters).toEqual([{ name: "slope", rank: 1, integer: false }]);
    expect(values).toEqual([{ data: new Float32Array([0.5, 0.25]), extents: [2] }]);
  });

  test.each([
    ["2 + 3 * 4", "14"],
    ["(2 + 3) * 4", "20"],
    ["2 ** 3 ** 2", "512"],
    ["7 % 4 - 1", "2"],
    ["-7 % 4", "-3"],
    ["1 - 2 - 3", "-4"],
    ["Infinity", "Infinity"],
    ["-Infinity + 1", "-Infinity"],
    ["0.1", String(Math.fround(0.1))],
    ["1 < 2 && !(3 < 2)", "1"],
    ["true ? 5 : s", "5"],
    ["min(3, 1, 2) + max(4)", "5"],
    ["clamp(9, 0, 4)", "4"],
    ["floor(-0.5)", "-1"],
    ["sign(-3) + pow(2, 3)", "7"],
    ["1e400", "Infinity"],
    [".5 + 1.5e1", "15.5"],
  ])("of known numbers, %s, is the number %s", (text, value) => {
    expect(simplified(text)).toBe(value);
  });

  test("that is NaN stays an operation, for no number of a graph is NaN", () => {
    for (const text of ["NaN", "0 / 0", "Infinity - Infinity", "log(-1)", "sqrt(-1)"])
      for (const { value } of formula(text).graph.nodes) expect(value).not.toBeNaN();
    expect(simplified("NaN")).toBe("0 / 0");
  });

  test.each([
    ["s * 1", "s"],
    ["s / 1", "s"],
    ["s - 0", "s"],
    ["s * -1", "-s"],
    ["-(-s)", "s"],
    ["s + -q", "s - q"],
    ["s - -q", "s + q"],
    ["s- -q", "s + q"],
    ["s+-q", "s - q"],
    ["k < q ?.5:.25", "k < q ? 0.5 : 0.25"],
    ["k < q?.5:q < 3?.25:1", "k < q ? 0.5 : q < 3 ? 0.25 : 1"],
    ["s / 4", "s * 0.25"],
    ["s ** 2", "s * s"],
    ["s ** 0", "1"],
    ["s ** 1", "s"],
    ["s ** -1", "1 / s"],
    ["abs(-s)", "abs(s)"],
    ["abs(abs(s))", "abs(s)"],
    ["floor(q - 3 * k)", "q - 3 * k"],
    ["floor(floor(s))", "floor(s)"],
    ["min(s, s)", "s"],
    ["!(k > q)", "k <= q"],
    ["!(k == q)", "q != k"],
    ["!!(k < q)", "k < q"],
    ["k < q ? true : false", "k < q"],
    ["k < q ? 0 : 1", "q <= k"],
    ["k < q ? s : s", "s"],
    ["k < q && true", "k < q"],
    ["k < q || true", "1"],
    ["k < q && k < q", "k < q"],
  ])("%s is simplified to %s", (text, simple) => {
    expect(simplified(text).replace("k != q", "q != k")).toBe(simple);
  });

  test.each(["s + 0", "s - s", "s * 0", "s / 3", "s / s", "s == s", "!(s < 1)", "min(s, q)", "s ** 0.5", "s ** 3"])(
    "%s stays as it is: NaN, infinities and -0 would make a difference",
    (text) => {
      expect(formula(text).graph.nodes.length).toBeGreaterThan(text === "!(s < 1)" ? 3 : 1);
      expect(simplified(text)).not.toMatch(/^(s|\d)$/);
    },
  );

  test("holds every operation once, and none that nothing uses", () => {
    const { nodes } = formula("(q - k) * (q - k) + 0 * 5 + (true ? q - k : exp(s))").graph;
    expect(nodes.filter(({ op }) => op === "subtract")).toHaveLength(1);
    expect(nodes.filter(({ op }) => op === "exp")).toHaveLength(0);
    const keys = nodes.map((node) => JSON.stringify(node));
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("takes a && b and a || b as JavaScript does: the value of one of them", () => {
    expect(simplified("q && s")).toBe("0 < abs(q) ? s : q");
    expect(simplified("q || s")).toBe("0 < abs(q) ? q : s");
    expect(simplified("k < q || s < 1")).toBe("k < q || s < 1");
    expect(simplified("(q && s) + 1")).toBe("(0 < abs(q) ? s : q) + 1");
  });

  test("counts true as 1 in arithmetic", () => {
    const { nodes, result } = formula("(k < q) * 2").graph;
    expect(isBoolean(nodes, nodes[result]!.of[0]!) || isBoolean(nodes, nodes[result]!.of[1]!)).toBe(true);
  });

  test("may have line breaks and tabs", () => {
    expect(simplified("k <= q\n\t&& q - k < 8")).toBe("k <= q && q - k < 8");
    expect(simplified("\uFEFFk <=\u00A0q\u2028 &&\u3000q\u00A0-\u00A0k < 8")).toBe("k <= q && q - k < 8");
  });

  test("cannot be changed", () => {
    const { graph } = formula("s - t[k] * 2", { t: [1, 2] });
    const parts = [graph, graph.nodes, graph.parameters, graph.nodes[0]!, graph.nodes.at(-1)!.of, graph.parameters[0]!];
    expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
    expect(Object.isFrozen(formula("s"))).toBe(true);
  });

  test("survives structuredClone as plain data", () => {
    const original = formula("s - slope[h] * cap", { slope: [1, 2], cap: 3 });
    const { text, graph, values } = structuredClone(original);
    expect({ text, graph, values }).toEqual({ text: original.text, graph: original.graph, values: original.values });
  });
});

describe("Parameters", () => {
  const values = (given: Parameters) => formula("s", given).values;
  const kinds = (given: Parameters) => formula("s", given).graph.parameters;

  test("may be numbers and booleans", () => {
    expect(values({ a: 0.1, x: true, c: false, d: -Infinity, e: NaN })).toEqual([
      Math.fround(0.1),
      1,
      0,
      -Infinity,
      NaN,
    ]);
  });

  test("may be lists: typed arrays, plain lists, lists of lists, and data with a shape", () => {
    const table = (data: number[], ...extents: number[]) => ({ data: new Float32Array(data), extents });
    const rows = [
      [1, 2],
      [3, 4],
      [5, 6],
    ];
    const given = {
      float: new Float32Array([0.5]),
      int: new Int32Array([-3, 2 ** 24]),
      bytes: new Uint8Array([1, 0]),
      plain: [1, true, 0.5],
      rows,
      typedRows: [new Float32Array([1, 2]), new Float32Array([3, 4])],
      shaped: { data: new Int32Array([1, 2, 3, 4, 5, 6]), shape: [2, 3] },
      flat: { data: [1, 2], shape: [2] },
    };
    expect(values(given)).toEqual([
      table([0.5], 1),
      table([-3, 2 ** 24], 2),
      table([1, 0], 2),
      table([1, 1, 0.5], 3),
      table([1, 2, 3, 4, 5, 6], 3, 2),
      table([1, 2, 3, 4], 2, 2),
      table([1, 2, 3, 4, 5, 6], 2, 3),
      table([1, 2], 2),
    ]);
    expect(kinds(given).map(({ rank, integer }) => [rank, integer])).toEqual(
      [[1, false], [1, true], [1, true], [1, false], [2, false], [2, false], [2, true], [1, false]], // oxfmt-ignore
    );
  });

  test("are copied", () => {
    const slope = new Float32Array([1, 2]);
    const [table] = formula("s * slope[h]", { slope }).values as readonly Table[];
    slope[0] = 9;
    expect(table!.data[0]).toBe(1);
  });

  test.each<[string, unknown, string]>([
    ["a text", "x", 'formula: p must be a number, true, false, or a table of numbers, got "x"'],
    ["null", null, "formula: p must be a number, true, false, or a table of numbers, got null"],
    ["a function", () => 1, "formula: p must be a number, true, false, or a table of numbers, got a function"],
    ["an empty list", [], "formula: p must have 1 to 16777216 numbers, got 0"],
    ["a list with a text", [1, "2"], 'formula: p[1] must be a number, got "2"'],
    ["rows of two lengths", [[1, 2], [3]], "formula: p[1] must be as long as p[0], got 1 and 2"],
    ["a row that is none", [[1], 2], "formula: p[1] must be a list like p[0], got 2"],
    [
      "a shape of another size",
      { data: [1, 2], shape: [3] },
      "formula: p.data.length must be the product of shape [3], got 2",
    ],
    [
      "a shape of rank 3",
      { data: [1], shape: [1, 1, 1] },
      "formula: p.shape must be one or two whole numbers, got [1, 1, 1]",
    ],
    [
      "a large integer",
      new Int32Array([2 ** 24 + 1]),
      "formula: p[0] must be a whole number from -16777216 to 16777216, got 16777217",
    ],
    ["a large number", 1e39, "formula: p must fit in float32, got 1e+39"],
    [
      "a Float64Array",
      new Float64Array(1),
      "formula: p must be a Float32Array, Int32Array, Uint8Array or a list of numbers, got a Float64Array of 1",
    ],
  ])("that are %s are refused", (_, p, message) => {
    const error = errorOf("s", { p } as Parameters);
    expect(HeadwiseError.is(error)).toBe(true);
    expect(error.message).toBe(message);
  });

  test("with names that mean something else are refused", () => {
    for (const name of [...VARIABLES, "abs", "Infinity", "NaN", "true", "this"])
      expect(errorOf("s", { [name]: 1 }).message).toBe(
        `formula: a parameter cannot have the name ${name}, which every formula knows`,
      );
    expect(errorOf("s", { "a-b": 1 }).message).toBe('formula: "a-b" cannot be the name of a parameter');
  });

  test("whose accessors throw are refused with a typed error", () => {
    const hostile = Object.defineProperty({}, "p", { enumerable: true, get: () => JSON.parse("{") as never });
    expect(HeadwiseError.is(errorOf("s", hostile))).toBe(true);
    const list = new Proxy([1, 2], { get: () => JSON.parse("{") as never });
    expect(HeadwiseError.is(errorOf("s", { p: list }))).toBe(true);
  });
});

describe("with", () => {
  const alibi = formula("s - slope[h] * abs(q - k) * factor", { slope: new Float32Array([1, 2]), factor: 1 });

  test("replaces values and shares the graph", () => {
    const other = alibi.with({ slope: [3, 4, 5] });
    expect(other.graph).toBe(alibi.graph);
    expect(other.text).toBe(alibi.text);
    expect(other.values).toEqual([{ data: new Float32Array([3, 4, 5]), extents: [3] }, 1]);
    expect(alibi.values[0]).toEqual({ data: new Float32Array([1, 2]), extents: [2] });
    expect(other.with({ factor: 0.5 }).values[1]).toBe(0.5);
  });

  const refusal = (given: object, of: Formula = alibi) => {
    try {
      of.with(given);
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error("it was accepted");
  };

  test("refuses unknown names, and suggests", () => {
    expect(refusal({ slop: [1] })).toBe("formula.with: slop is not a parameter; did you mean slope?");
    expect(refusal({ x: 1 }, formula("s"))).toBe("formula.with: x is not a parameter");
  });

  test("keeps numbers numbers, tables tables, and whole tables whole", () => {
    expect(refusal({ slope: 1 })).toBe("formula.with: slope must stay a table with one axis, got a number");
    expect(refusal({ slope: [[1]] })).toBe(
      "formula.with: slope must stay a table with one axis, got a table with two axes",
    );
    expect(refusal({ factor: [1] })).toBe("formula.with: factor must stay a number, got a table with one axis");
    const documents = formula("doc[q] == doc[k]", { doc: new Int32Array([0, 1]) });
    expect(documents.with({ doc: [1, 1, 2] }).graph).toBe(documents.graph);
    expect(refusal({ doc: [0.5] }, documents)).toBe(
      "formula.with: doc[0] must be a whole number from -16777216 to 16777216, got 0.5",
    );
    expect(refusal({ isOn: 0.5 }, formula("isOn ? s : 0", { isOn: true }))).toBe(
      "formula.with: isOn must be a whole number from -16777216 to 16777216, got 0.5",
    );
  });

  test("knows the names of the parameters in TypeScript", () => {
    // @ts-expect-error -- slop is no parameter
    expect(() => alibi.with({ slop: [1] })).toThrow();
    // @ts-expect-error -- a number cannot become a table
    expect(() => alibi.with({ factor: [1] })).toThrow();
    alibi.with({ slope: [[1]][0]!, factor: 2 });
  });
});

describe("An error", () => {
  test.each<[string, string, number]>([
    ["slop[h] * s", "slop is not a parameter; did you mean slope?", 0],
    ["s - slop[h]", "slop is not a parameter; did you mean slope?", 4],
    ["s * skv", "skv is not a parameter; did you mean Skv?", 4],
    ["s * unheard", "unheard is not a parameter", 4],
    ["slope * s", "slope is a table: look up an element, as slope[h]", 0],
    ["s * slope[1][2]", "slope has 1 axis: look up an element, as slope[h]", 4],
    ["s * pairs[1]", "pairs has 2 axes: look up an element, as pairs[h][k]", 4],
    ["s + factor[1]", "factor is a number, so it has no elements", 4],
    ["s[1]", "s is not a table, so it has no elements", 0],
    ["(s + 1)[1]", "only a table has elements", 1],
    ["[1, 2][k]", "lists are not allowed: give a table as a parameter", 0],
    ["[1, 2]", "lists are not allowed: give a table as a parameter", 0],
    ["slope.length", "members are not allowed", 0],
    ["1 + Math.abs(s)", "members are not allowed: write abs(…)", 4],
    ["Math.abs", "members are not allowed: write abs(…)", 0],
    ["slope?.[1]", "members are not allowed", 0],
    ["s + abs", "abs is a function: write abs(…)", 4],
    ["s + ab(s)", "ab is not a function; did you mean abs?", 4],
    ["ceil(s)", "ceil is not a function", 0],
    ["s(1)", "s is not a function", 0],
    ["abs(s)(1)", "only a function can be called", 0],
    ["pow(s)", "pow needs 2 arguments, got 1", 0],
    ["1 + abs(s, 1)", "abs needs 1 argument, got 2", 4],
    ["min()", "min needs at least 1 argument, got 0", 0],
    ["min(s q)", "a comma is missing", 5],
    ["min(s,,q)", "unexpected ,", 6],
    ["min(s,)", "unexpected )", 6],
    ["'text'", "texts are not allowed", 0],
    ['s == "x"', "texts are not allowed", 5],
    ["'open", "texts are not allowed", 5],
    ["s--q", "unexpected --; two signs need a space between them", 1],
    ["s ++ q", "unexpected ++; two signs need a space between them", 2],
    ["1 + --s", "unexpected --; two signs need a space between them", 4],
    ["s - --q", "unexpected --; two signs need a space between them", 4],
    ["s---q", "unexpected --; two signs need a space between them", 1],
    ["slope[h--k]", "unexpected --; two signs need a space between them", 7],
    ["s ?.5 : slop", "slop is not a parameter; did you mean slope?", 8],
    ["q ?.5:k ?.5:(1", "the text ends where ) must follow", 14],
    ["s * 010", "a number cannot start with 0 before other digits", 4],
    ["s = 1", "unexpected =; JavaScript writes ==", 2],
    ["s += 1", "unexpected =; JavaScript writes ==", 3],
    ["k ≤ q", "unexpected ≤; JavaScript writes <=", 2],
    ["k≤q", "unexpected ≤; JavaScript writes <=", 1],
    ["s + −q", "unexpected −; JavaScript writes -", 4],
    ["s ?.5 : 2·q", "unexpected ·; JavaScript writes *", 9],
    ["s ?.5 : factor·q", "unexpected ·; JavaScript writes *", 14],
    ["k <= q and q < 9", "unexpected and; JavaScript writes &&", 7],
    ["s if k <= q else 0", "unexpected if; JavaScript writes condition ? a : b", 2],
    ["where(k <= q, s, 0)", "where is not a function; JavaScript writes condition ? a : b", 0],
    ["k <= q ? s : -inf", "inf is not a parameter; JavaScript writes Infinity", 14],
    ["True", "True is not a parameter; JavaScript writes true", 0],
    ["score + slope[h]", "score is not a parameter; here it is named s", 0],
    ["q_idx >= kv_idx", "q_idx is not a parameter; here it is named q", 0],
    ["s * factors", "factors is not a parameter; did you mean factor?", 4],
    ["s + pairs[h, k]", "unexpected ,; a table of two axes is read as t[q][k]", 11],
    ["not(s)", "not is not a function; JavaScript writes !", 0],
    ["s & q", "the operator & is not allowed; did you mean &&?", 2],
    ["s + (q | k)", "the operator | is not allowed; did you mean ||?", 7],
    ["s ^ 2", "the operator ^ is not allowed; did you mean **?", 2],
    ["s ?? q", "the operator ?? is not allowed", 2],
    ["s >>> 1", "the operator >>> is not allowed", 2],
    ["~s", "the operator ~ is not allowed; did you mean !?", 0],
    ["-s ** 2", "a sign before ** needs parentheses: (-x) ** y or -(x ** y)", 0],
    ["0 < k < q", "< compares a number with true or false", 0],
    ["s < (q < k)", "< compares a number with true or false", 4],
    ["s; q", "unexpected ;", 1],
    ["s, q", "unexpected ,", 1],
    ["s q", "unexpected q", 2],
    ["(s, q)", "unexpected ,", 2],
    ["s)", "unexpected )", 1],
    ["()", "unexpected )", 1],
    ["(s", "the text ends where ) must follow", 2],
    ["slope[1", "the text ends where ] must follow", 7],
    ["abs(s", "the text ends where ) must follow", 5],
    ["s ? q", "the text ends where : must follow", 5],
    ["s +", "the text ends where an expression must follow", 3],
    ["s ?", "the text ends where an expression must follow", 3],
    ["", "the text is empty", 0],
    ["  ", "the text is empty", 2],
    ["1abc", "a name cannot start with a digit", 1],
    ["1.2.3", "unexpected .", 3],
    ["null", "null is not allowed", 0],
    ["s + 1e39", "a number must fit in float32, got 1e+39", 4],
    ["this", "this is not allowed", 0],
    ["constructor", "constructor is not a parameter", 0],
    ["toString(s)", "toString is not a function", 0],
    ["s # 1", "unexpected #", 2],
    ["`s`", "unexpected `", 0],
    ["(q) => q", "unexpected =; JavaScript writes ==", 4],
    ["new s", "unexpected s", 4],
  ])("in %j says: %s, and points at character %i", (text, problem, position) => {
    const parameters = { slope: [1, 2], pairs: [[1]], factor: 2 };
    expect(fault(text, parameters)).toEqual([problem, position]);
  });

  test("shows the line of the text, and a caret below the character", () => {
    expect(errorOf("k <= q &&\n  slop[h] < 2", { slope: [1] }).message).toBe(
      "formula: slop is not a parameter; did you mean slope?\n    slop[h] < 2\n    ^",
    );
  });

  test("shows a part of a long line", () => {
    const [, line, caret] = errorOf(`${"s + ".repeat(50)}x${" + s".repeat(50)}`).message.split("\n");
    expect(line!.length).toBeLessThan(90);
    expect(line![caret!.indexOf("^")]).toBe("x");
  });

  test.each([
    ["(", ")"],
    ["abs(", ")"],
    ["t[", "]"],
    ["(s + ", ")"],
  ])("allows 128 of %s in each other, and no more", (open, close) => {
    const nested = (depth: number) => open.repeat(depth) + "s" + close.repeat(depth);
    expect(formula(nested(128), { t: [1] }).text).toBe(nested(128));
    expect(errorOf(nested(129), { t: [1] }).message).toContain("the formula is nested more than 128 deep");
  });

  test("is an OptionError with a code, the known names as a hint, and the position", () => {
    const error = errorOf("s * slop", { slope: 1, cap: 2 });
    expect([error.name, error.code, error.position]).toEqual(["OptionError", "INVALID_OPTION", 4]);
    expect(error.hint).toContain(
      "The parameters are slope, cap; the variables are s, q, k, i, j, h, g, b, Sq, Skv, D.",
    );
  });

  test("is thrown for a text that is no string, too long, too deep or too large", () => {
    expect(errorOf(5 as never).message).toBe("formula: the text must be a string, got 5");
    expect(errorOf("s".repeat(4097)).message).toContain("the text must have at most 4096 characters, got 4097");
    for (const text of [
      "(".repeat(2000) + "s",
      "(".repeat(1000) + "s" + ")".repeat(1000),
      "-".repeat(4000) + "s",
      "abs(".repeat(1000) + "s",
      "s ? ".repeat(1000) + "s",
      "s" + "?s:s".repeat(900),
      "t[".repeat(1000),
      "2" + "**2".repeat(1000),
      "s" + "+s".repeat(2000),
      "!".repeat(4000) + "s",
      "s" + "[s]".repeat(1000),
      "abs" + "(s)".repeat(1000),
      "[".repeat(4000),
    ])
      expect(HeadwiseError.is(errorOf(text))).toBe(true);
    const sum = Array.from({ length: 300 }, (_, n) => `s * ${n}.5`).join(" + ");
    expect(errorOf(sum).message).toContain("the formula must have at most 256 operations, got");
  });
});

/** What a graph promises to engines. */
function brokenPromises({ nodes, result, parameters }: Graph): string[] {
  const broken: string[] = [];
  const used = new Set([result]);
  for (let index = nodes.length - 1; index >= 0; --index) {
    const { op, of, value, variable, slot } = nodes[index]!;
    if (!used.has(index)) broken.push(`${index} is not used`);
    for (const operand of of) {
      used.add(operand);
      if (operand >= index) broken.push(`${index} uses ${operand}`);
    }
    if (!OPERATIONS.includes(op)) broken.push(op);
    if (op === "number" && (!Object.is(Math.fround(value!), value) || Number.isNaN(value))) broken.push(`${value}`);
    if (op === "variable" && !VARIABLES.includes(variable!)) broken.push(`${variable}`);
    if (["parameter", "table1", "table2"].includes(op) && parameters[slot!]!.rank !== of.length) broken.push(op);
    const conditions = { not: 1, and: 2, or: 2, select: 1 }[op as string] ?? 0;
    for (const operand of of.slice(0, conditions)) if (!isBoolean(nodes, operand)) broken.push(`${op} of a number`);
  }
  const keys = nodes.map((node) => JSON.stringify([node, Object.is(node.value, -0)]));
  if (new Set(keys).size < keys.length) broken.push("a node is there twice");
  if (nodes.length > 256) broken.push("too many nodes");
  return broken;
}

describe("Any text", () => {
  const parameters = { slope: [1, 2], pairs: [[1, 2]], factor: 2, doc: new Int32Array([1]) };
  const words = [
    ...VARIABLES, ...Object.keys(parameters), "abs", "min", "pow", "clamp", "floor", "Infinity", "NaN", "true", "null", "this",
    "1", "0.5", ".5", "1e9", "0", "2", "08", "0x1", "1_0", "++", "--", "+", "-", "*", "/", "%", "**", "<", "<=", ">", "==", "===", "!=", "&&", "||", "!", "?", ":", "(", ")",
    "[", "]", ",", ".", "?.", ";", "=", "'", '"', "`", "~", "&", "|", "??", "\n", " ", "…", "💡", "constructor", "__proto__",
  ]; // oxfmt-ignore
  const texts = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((chosen) => chosen.join("")),
    fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((chosen) => chosen.join(" ")),
  );

  test("is a formula or gives a typed error that points into the text", () => {
    let accepted = 0;
    fc.assert(
      fc.property(texts, (text) => {
        try {
          const { graph } = formula(text, parameters);
          expect(brokenPromises(graph)).toEqual([]);
          ++accepted;
          expect(
            () =>
              new Script(`"use strict"; (${text}
);`),
          ).not.toThrow(); // JavaScript takes it, too
        } catch (error) {
          if (!HeadwiseError.is(error)) throw error;
          const { position } = error as FormulaError;
          expect(position).toBeGreaterThanOrEqual(0);
          expect(position).toBeLessThanOrEqual(text.length);
        }
      }),
      { numRuns: runsOf(20_000), seed: 16 },
    );
    expect(accepted).toBeGreaterThan(runsOf(20_000) / 200);
  });
});
