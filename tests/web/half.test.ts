import { describe, expect, test } from "@jest/globals";
import { getFloat16, setFloat16 } from "@petamoriken/float16";
import { OptionError, tensor, toFloat16, toFloat32 } from "headwise";

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
    expect(error.message).toBe("toFloat16: values must be of dtype float32 or float16, got int32");
  });
});
