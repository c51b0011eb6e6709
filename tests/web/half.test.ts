import { describe, expect, test } from "@jest/globals";
import { getFloat16, setFloat16 } from "@petamoriken/float16";
import { OptionError, tensor, toBfloat16, toFloat16, toFloat32 } from "headwise";

import { thrownBy } from "./thrownBy.js";

const library = new DataView(new ArrayBuffer(2));
const bitsBy = (x: number) => (setFloat16(library, 0, x, true), library.getUint16(0, true));
const numberBy = (bits: number) => (library.setUint16(0, bits, true), getFloat16(library, 0, true));

const ALL = Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits);

describe("toFloat32", () => {
  test("gives the number of every bit pattern, as a library does", () => {
    expect(toFloat32(ALL)).toEqual(Float32Array.from(ALL, numberBy));
  });

  test("keeps the shape of a tensor", () => {
    const halves = tensor(Uint16Array.of(0x3c00, 0xb800), [2, 1]);
    expect(toFloat32(halves)).toEqual(tensor(Float32Array.of(1, -0.5), [2, 1]));
  });
});

describe("toFloat16", () => {
  test("gives every float16 its own bits back", () => {
    const numbers = ALL.filter((bits) => !Number.isNaN(numberBy(bits)));
    expect(toFloat16(toFloat32(numbers))).toEqual(numbers);
  });

  test("rounds numbers between two float16 as a library does: to the nearest, ties to the even one", () => {
    const positive = Array.from({ length: 0x7bff }, (_, bits) => [numberBy(bits), numberBy(bits + 1)] as const);
    const between = positive.flatMap(([low, high]) =>
      [0.25, 0.5, 0.5 + 2 ** -12, 0.75].flatMap((part) => [low + part * (high - low), -low - part * (high - low)]),
    );
    const numbers = Float32Array.from([...between, 65519, 65520, 1e9, -1e9, 1e-9, -0, Infinity, -Infinity]);
    expect(toFloat16(numbers)).toEqual(Uint16Array.from(numbers, bitsBy));
  });

  test("takes plain numbers and tensors, and copies what is float16 already", () => {
    expect(toFloat16([1, 0.5])).toEqual(Uint16Array.of(0x3c00, 0x3800));
    const given = tensor([[1, 0.5]], "float16");
    const copy = toFloat16(given);
    expect(copy).toEqual({ data: Uint16Array.of(0x3c00, 0x3800), shape: [1, 2], dtype: "float16" });
    expect(copy.data).not.toBe(given.data);
  });

  test("refuses what holds no floats", () => {
    const error = thrownBy(() => toFloat16(new Int32Array(2) as never));
    expect(OptionError.is(error)).toBe(true);
    expect(error.message).toBe("toFloat16: values must be of dtype float32 or float16 or bfloat16, got int32");
  });
});

describe("toBfloat16", () => {
  const upper = (x: number) => new Uint32Array(Float32Array.of(x).buffer)[0]! >>> 16;
  const numberOf = (bits: number) => new Float32Array(Uint32Array.of(bits << 16).buffer)[0]!;

  test("gives every bfloat16 its own bits back", () => {
    const numbers = toFloat32({ data: ALL, shape: [ALL.length], dtype: "bfloat16" });
    expect(numbers).toEqual({ data: Float32Array.from(ALL, numberOf), shape: [ALL.length], dtype: "float32" });
    const back = toBfloat16(numbers).data;
    expect(back.filter((bits, n) => bits !== n && !Number.isNaN(numberOf(n)))).toEqual(new Uint16Array(0));
    expect(back.every((bits, n) => Number.isNaN(numberOf(bits)) === Number.isNaN(numberOf(n)))).toBe(true);
  });

  test("rounds to the nearest, ties to the even one, and beyond the largest to infinity", () => {
    for (const low of [0, 1, 0x7f, 0x80, 0x3f80, 0x3f81, 0x7f7e]) {
      const [a, b] = [numberOf(low), numberOf(low + 1)];
      const at = (part: number) => a + part * (b - a);
      const expected = [low, low + (low & 1), low + 1];
      expect([...toBfloat16(Float32Array.of(at(0.25), at(0.5), at(0.75)))]).toEqual(expected);
      expect([...toBfloat16(Float32Array.of(-at(0.5)))]).toEqual([0x8000 | (low + (low & 1))]);
    }
    const largest = 3.4028234663852886e38;
    expect([...toBfloat16([largest, -largest, Infinity, -Infinity, -0])]).toEqual([
      0x7f80, 0xff80, 0x7f80, 0xff80, 0x8000,
    ]);
    expect(upper(numberOf(toBfloat16([NaN])[0]!))).toBe(0x7fc0);
  });

  test("rounds plain numbers once, not first to float32", () => {
    const middle = 1 + 2 ** -8; // of two bfloat16
    const numbers = [middle, middle + 2 ** -40, 1 + 3 * 2 ** -8, 1 + 3 * 2 ** -8 - 2 ** -40, -middle - 2 ** -40];
    expect(tensor(numbers, "bfloat16").data).toEqual(Uint16Array.of(0x3f80, 0x3f81, 0x3f82, 0x3f81, 0xbf81));
  });

  test("takes tensors of float16 and bfloat16", () => {
    const given = toBfloat16(tensor([[1, 0.5]], "float16"));
    expect(given).toEqual({ data: Uint16Array.of(0x3f80, 0x3f00), shape: [1, 2], dtype: "bfloat16" });
    const copy = toBfloat16(given);
    expect(copy).toEqual(given);
    expect(copy.data).not.toBe(given.data);
    expect(toFloat16(given)).toEqual(tensor([[1, 0.5]], "float16"));
  });
});
