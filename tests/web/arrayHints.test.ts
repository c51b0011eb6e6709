import { describe, expect, test } from "@jest/globals";

import { dataHint } from "../../web/src/call/arrayHints.js";
import { CallArguments } from "../../web/src/call/callArguments.js";
import type { Dtype } from "../../web/src/tensor/tensor.js";
import { thrownBy } from "./thrownBy.js";

const FLOATS = ["float32", "float16"] as const;

/** The message and the hint of a refused argument, without the link of the hint. */
function refusal(
  argument: string,
  value: unknown,
  dtypes: readonly Dtype[] = FLOATS,
): { message: string; hint: string } {
  const { message, hint } = thrownBy(() => new CallArguments("op").tensor(argument, value, dtypes));
  return { message, hint: hint.replace(/ ?See \S+troubleshooting\.md#invalid_option\.$/, "") };
}

const POLARITY = "1 (true) = may attend, 0 (false) = hidden.";

describe("an array that holds no dtype of the argument", () => {
  test.each<[what: string, data: unknown, dtypes: readonly Dtype[], arrays: string, hint: string]>([
    ["doubles", new Float64Array(2), FLOATS, "Float32Array or Uint16Array or Float16Array", "Float32Array.from(data)"],
    ["numbers", [1, 2], FLOATS, "Float32Array or Uint16Array or Float16Array", "Float32Array.from(data)"],
    ["64-bit integers", new BigInt64Array(2), ["float32"], "Float32Array", "Float32Array.from(data, Number)"],
    ["64-bit integers for int32", new BigUint64Array(2), ["int32"], "Int32Array", "Int32Array.from(data, Number)"],
    ["bigints", [1n, 2n], ["int32"], "Int32Array", "Int32Array.from(data, Number)"],
    ["rows", [[1], [2]], ["float32"], "Float32Array", "Float32Array.from(data.flat(Infinity))"],
    ["booleans", [true, false], ["bool"], "Uint8Array", "Uint8Array.from(data, Number)"],
    [
      "booleans among all dtypes",
      [true, false],
      ["float32", "bool"],
      "Float32Array or Uint8Array",
      "Uint8Array.from(data, Number)",
    ],
    ["bytes", new Int8Array(2), ["bool"], "Uint8Array", "Uint8Array.from(data, Number)"],
  ])("%s: the arrays that it may be, and how to make one", (_what, data, dtypes, arrays, hint) => {
    const { message, hint: said } = refusal("x", { data, shape: [2] }, dtypes);
    expect(message).toMatch(`op: x.data must be a ${arrays}, got `);
    expect(said).toBe(`${hint} makes one.`);
  });

  test("a mask of booleans is told what true means", () => {
    const { hint } = refusal("mask", { data: [true, false], shape: [2] }, ["bool"]);
    expect(hint).toBe(`Uint8Array.from(data, Number) makes one: ${POLARITY}`);
  });

  test("a method is to be called", () => {
    expect(refusal("x", { data: () => new Float32Array(2), shape: [2] }).hint).toContain("await x.data()");
  });
});

describe("what is no tensor", () => {
  test.each<[what: string, argument: string, value: unknown, dtypes: readonly Dtype[], hint: string]>([
    ["booleans", "mask", [true], ["bool"], `tensor(Uint8Array.from(values, Number), shape) makes one: ${POLARITY}`],
    [
      "rows of booleans",
      "mask",
      [[true]],
      ["bool"],
      `tensor(Uint8Array.from(values.flat(Infinity), Number), shape) makes one: ${POLARITY}`,
    ],
    ["numbers", "query", [1, 2], FLOATS, "tensor(Float32Array.from(values), shape) makes one."],
    ["doubles", "query", new Float64Array(2), FLOATS, "tensor(Float32Array.from(values), shape) makes one."],
    ["a bare array of its kind", "query", new Float32Array(2), FLOATS, "tensor(array, shape) makes one."],
    ["nothing", "query", undefined, FLOATS, "tensor(Float32Array.from(values), shape) makes one."],
    [
      "a tensor of another runtime",
      "query",
      { data: new Float32Array(2), dims: [2] },
      FLOATS,
      "Its shape is called dims: { data: x.data, shape: x.dims } is a tensor.",
    ],
  ])("%s: how to make one", (_what, argument, value, dtypes, hint) => {
    expect(refusal(argument, value, dtypes).hint).toBe(hint);
  });
});

describe("a tensor of another dtype", () => {
  test.each<[argument: string, data: unknown, dtypes: readonly Dtype[], hint: string]>([
    ["mask", new Float32Array(1), ["bool"], "A mask of numbers, which are added to the scores, is the option `bias`."],
    ["mask", new Int32Array(1), ["bool"], `Uint8Array.from(data, Number) converts it: ${POLARITY}`],
    ["bias", new Uint8Array(1), FLOATS, "A mask of booleans, true = may attend, is the option `mask`."],
    ["query", new Int32Array(1), FLOATS, "Float32Array.from(data) converts it."],
    ["table", new Uint16Array(1), ["float32"], ""],
  ])("%s of %p", (argument, data, dtypes, hint) => {
    const { message, hint: said } = refusal(argument, { data, shape: [1] }, dtypes);
    expect(message).toMatch(`op: ${argument} must be of dtype ${dtypes.join(" or ")}, got `);
    expect(said).toBe(hint);
  });
});

test("a list that holds itself has a hint all the same", () => {
  const list: unknown[] = [];
  list.push(list);
  expect(dataHint("x", list, ["float32"])).toBe("Float32Array.from(data.flat(Infinity)) makes one.");
});

test("a value that throws when it is read has no hint", () => {
  const hostile = new Proxy([], {
    get(target, name) {
      if (name === "0" || name === Symbol.toStringTag) throw new Error("no");
      return Reflect.get(target, name) as unknown;
    },
  });
  expect(thrownBy(() => new CallArguments("op").tensor("x", { data: hostile, shape: [1] }, FLOATS))).toMatchObject({
    name: "OptionError",
    hint: expect.stringMatching(/^See \S+troubleshooting\.md#invalid_option\.$/),
  });
});
