import { describe, expect, test } from "@jest/globals";

import { CallArguments } from "../../web/src/read/callArguments.js";
import type { Dtype } from "../../web/src/tensor/tensor.js";
import { thrownBy } from "./thrownBy.js";

const FLOATS = ["float32", "float16"] as const;

/** The message and the hint of a refused argument. The link in the hint is left out. */
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
    ["64-bit integers", new BigInt64Array(2), ["float32"], "Float32Array", "Float32Array.from(data, Number)"],
    ["64-bit integers for int32", new BigUint64Array(2), ["int32"], "Int32Array", "Int32Array.from(data, Number)"],
    ["bytes", new Uint8ClampedArray(2), ["bool"], "Uint8Array", "Uint8Array.from(data, Number)"],
  ])("%s: the arrays that it may be, and how to make one", (_what, data, dtypes, arrays, hint) => {
    const { message, hint: said } = refusal("x", { data, shape: [2] }, dtypes);
    expect(message).toMatch(`op: x.data must be a ${arrays}, got `);
    expect(said).toBe(`${hint} makes one.`);
  });

  test("a mask of bytes is told what true means", () => {
    const { hint } = refusal("mask", { data: new Int8Array(2), shape: [2] }, ["bool"]);
    expect(hint).toBe(`Uint8Array.from(data, Number) converts it: ${POLARITY}`);
  });

  test("a method is to be called", () => {
    expect(refusal("x", { data: () => new Float32Array(2), shape: [2] }).hint).toContain("await x.data()");
  });
});

describe("what is no tensor", () => {
  test.each<[what: string, argument: string, value: unknown, dtypes: readonly Dtype[], hint: string]>([
    ["doubles", "query", new Float64Array(2), FLOATS, "tensor(Float32Array.from(values), shape) makes one."],
    ["a bare array of its kind", "query", new Float32Array(2), FLOATS, "tensor(array, shape) makes one."],
    ["nothing", "query", undefined, FLOATS, "tensor(Float32Array.from(values), shape) makes one."],
  ])("%s: how to make one", (_what, argument, value, dtypes, hint) => {
    expect(refusal(argument, value, dtypes).hint).toBe(hint);
  });
});

describe("a tensor of another dtype", () => {
  test.each<[argument: string, data: unknown, dtypes: readonly Dtype[], hint: string]>([
    ["mask", new Float32Array(1), ["bool"], "A mask of numbers, which are added to the scores, is the option `bias`."],
    ["bias", new Uint8Array(1), FLOATS, "A mask of booleans, true = may attend, is the option `mask`."],
    ["query", new Int32Array(1), FLOATS, "Float32Array.from(data) converts it."],
    ["table", new Uint16Array(1), ["float32"], ""],
  ])("%s of %p", (argument, data, dtypes, hint) => {
    const { message, hint: said } = refusal(argument, { data, shape: [1] }, dtypes);
    expect(message).toMatch(`op: ${argument} must be of dtype ${dtypes.join(" or ")}, got `);
    expect(said).toBe(hint);
  });
});

test("a value that throws when it is read has no hint", () => {
  const hostile = {
    get [Symbol.toStringTag](): string {
      throw new Error("no");
    },
  };
  expect(thrownBy(() => new CallArguments("op").tensor("x", { data: hostile, shape: [1] }, FLOATS))).toMatchObject({
    name: "OptionError",
    hint: expect.stringMatching(/^See \S+troubleshooting\.md#invalid_option\.$/),
  });
});
