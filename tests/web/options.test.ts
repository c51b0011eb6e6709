import { describe, expect, test } from "@jest/globals";

import { OptionError, ShapeError } from "../../web/src/base/errors.js";
import { CallArguments } from "../../web/src/read/callArguments.js";
import { readOptions } from "../../web/src/read/options.js";
import { thrownBy } from "./thrownBy.js";

const NAMES = ["scale", "causal", "window", "keyLengths", "sinks", "layout", "mask", "signal"];
const reader = (options: unknown) => readOptions(new CallArguments("op"), options, NAMES);

describe("the names of options", () => {
  test("may all be left out", () => {
    expect(reader(undefined).number("scale")).toBeUndefined();
    expect(reader({ scale: undefined }).has("scale")).toBe(false);
  });

  test.each([
    ["cuasal", '"causal"'],
    ["casual", '"causal"'],
    ["keylengths", '"keyLengths"'],
    ["sink", '"sinks"'],
    ["Scale", '"scale"'],
  ])("misspelt as %s bring the suggestion %s", (name, suggested) => {
    const error = thrownBy(() => reader({ [name]: 1 }));
    expect(OptionError.is(error)).toBe(true);
    expect(error.message).toBe(`op: unknown option "${name}"; did you mean ${suggested}?`);
    expect(error.hint).toBe(
      `Known options: ${NAMES.join(", ")}. See node_modules/headwise/web/docs/troubleshooting.md#invalid_option.`,
    );
  });

  test("that resemble nothing are refused without a suggestion", () => {
    expect(thrownBy(() => reader({ dropoutProbability: 1 })).message).toBe('op: unknown option "dropoutProbability"');
  });

  test("as long as a text are refused at once, and shortened in the message", () => {
    const { message } = thrownBy(() => reader({ ["causal".repeat(2 ** 22)]: 1 }));
    expect(message).toMatch(/^op: unknown option "(causal){33}ca…"$/);
  });

  test("are refused even when their value is undefined", () => {
    expect(thrownBy(() => reader({ cuasal: undefined })).message).toMatch(/cuasal/);
  });

  test("one level down are checked too, and named by their path", () => {
    const error = thrownBy(() => reader({ window: { lft: 1 } }).object("window", ["left", "right"]));
    expect(error.message).toBe('op: unknown option "lft" in window; did you mean "left"?');
    const window = reader({ window: { left: -1 } }).object("window", ["left", "right"])!;
    expect(thrownBy(() => window.integer("left", { min: 0 })).message).toBe(
      "op: window.left must be an integer of at least 0, got -1",
    );
  });

  test.each([null, 3, "causal", [], new Float32Array(1), () => {}])("cannot come in %p", (options) => {
    expect(thrownBy(() => reader(options)).message).toMatch(/^op: options must be an object, got /);
  });
});

describe("a number", () => {
  test("may be any finite one, also 0 and negative", () => {
    expect([0, -2.5, 1e38].map((scale) => reader({ scale }).number("scale"))).toEqual([0, -2.5, 1e38]);
  });

  // 1e39 is finite in double precision but infinite in float32, which the engine uses
  test.each([NaN, Infinity, -Infinity, 1e39, "1", null, 1n, true])("%p is refused", (scale) => {
    expect(thrownBy(() => reader({ scale }).number("scale")).message).toMatch(
      /^op: scale must be a finite number, got /,
    );
  });
});

test.each([null, 0, 1, "true", []])("a flag is true, false or absent: %p is refused", (scale) => {
  expect(reader({ scale: undefined }).flag("scale", true)).toBe(true);
  expect(thrownBy(() => reader({ scale }).flag("scale", true)).message).toMatch(
    /^op: scale must be true or false, got /,
  );
});

test("a whole number beyond 32 bits is told the bounds", () => {
  const of = (value: number) => thrownBy(() => reader({ scale: value }).integer("scale")).message;
  expect(of(2 ** 31)).toBe("op: scale must be an integer from -2147483648 to 2147483647, got 2147483648");
  expect(thrownBy(() => reader({ keyLengths: [2 ** 40] }).integers("keyLengths", { min: 0 })).message).toBe(
    "op: keyLengths[0] must be an integer from 0 to 2147483647, got 1099511627776",
  );
});

describe("a list", () => {
  test.each([
    [[1, 2]],
    [new Int32Array([1, 2])],
    [new Float32Array([1, 2])],
    [{ data: new Int32Array([1, 2]), shape: [2] }],
  ])("may be %p", (keyLengths) => {
    expect(reader({ keyLengths }).integers("keyLengths", { min: 0 }, 2)).toEqual(new Int32Array([1, 2]));
    expect(reader({ sinks: keyLengths }).floats("sinks", 2)).toEqual(new Float32Array([1, 2]));
  });

  test("of another length is a ShapeError", () => {
    const error = thrownBy(() => reader({ keyLengths: [1, 2, 3] }).integers("keyLengths", {}, 2));
    expect(ShapeError.is(error)).toBe(true);
    expect(error.message).toBe("op: keyLengths must have length 2, got 3");
  });

  test.each([
    [[1, -1], /keyLengths\[1\] must be an integer from 0 to 9, got -1/],
    [[10], /keyLengths\[0\].*got 10/],
    [[0.5], /keyLengths\[0\].*got 0\.5/],
    [["1"], /keyLengths\[0\].*got "1"/],
    [4, /keyLengths must be a list of numbers, got 4/],
    [{ data: new Int32Array(1), shape: [1, 1] }, /keyLengths must have rank 1/],
  ])("%p is refused", (keyLengths, message) => {
    expect(thrownBy(() => reader({ keyLengths }).integers("keyLengths", { min: 0, max: 9 })).message).toMatch(message);
  });

  test("holds −∞ only where that means something", () => {
    const list = reader({ sinks: [-Infinity] });
    expect(list.floats("sinks", 1, { minusInfinity: true })).toEqual(new Float32Array([-Infinity]));
    expect(thrownBy(() => list.floats("sinks", 1)).message).toBe("op: sinks[0] must be finite, got -Infinity");
    const positive = reader({ sinks: [Infinity] });
    expect(thrownBy(() => positive.floats("sinks", 1, { minusInfinity: true })).message).toMatch(/finite or -Infinity/);
  });

  test("is copied, so that later changes of the caller's do not reach the call", () => {
    const sinks = new Float32Array([1]);
    const read = reader({ sinks }).floats("sinks");
    sinks[0] = 2;
    expect(read).toEqual(new Float32Array([1]));
  });
});

test("a choice is one of its values, with a suggestion when it nearly is", () => {
  expect(reader({}).oneOf("layout", ["BHSD", "BSHD"], "BHSD")).toBe("BHSD");
  const error = thrownBy(() => reader({ layout: "bshd" }).oneOf("layout", ["BHSD", "BSHD"], "BHSD"));
  expect(error).toMatchObject({
    message: 'op: layout must be "BHSD" or "BSHD", got "bshd"',
    hint: 'did you mean "BSHD"? See node_modules/headwise/web/docs/troubleshooting.md#invalid_option.',
  });
});

test("a flag is true or false and nothing that resembles them", () => {
  expect(reader({ causal: false }).flag("causal", true)).toBe(false);
  expect(thrownBy(() => reader({ causal: 0 }).flag("causal", true)).message).toBe(
    "op: causal must be true or false, got 0",
  );
});

test("a signal is an AbortSignal", () => {
  const { signal } = new AbortController();
  expect(reader({ signal }).signal()).toBe(signal);
  expect(thrownBy(() => reader({ signal: {} }).signal()).message).toMatch(/AbortSignal/);
});
