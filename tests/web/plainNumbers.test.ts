import { describe, expect, test } from "@jest/globals";
import { createAttention, type HeadwiseError, OptionError, ShapeError, tensor, toFloat16, toNested } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";

import { describePlainArguments } from "./plainArguments.js";
import { thrownBy } from "./thrownBy.js";

const floats = (...numbers: number[]) => Float32Array.from(numbers);

describe("tensor", () => {
  test("of nested arrays has their shape", () => {
    expect(tensor([[1, 0], [0, 1]])).toEqual({ data: floats(1, 0, 0, 1), shape: [2, 2], dtype: "float32" }); // oxfmt-ignore
    expect(tensor([[[1], [2]]]).shape).toEqual([1, 2, 1]);
    expect(tensor([1, 2, 3]).shape).toEqual([3]);
    expect(tensor([[], []])).toEqual({ data: floats(), shape: [2, 0], dtype: "float32" });
  });

  test("of booleans is bool, and of numbers what is said", () => {
    expect(tensor([[true, false]])).toEqual({ data: Uint8Array.of(1, 0), shape: [1, 2], dtype: "bool" });
    expect(tensor([[1, 0]], "bool").data).toEqual(Uint8Array.of(1, 0));
    expect(tensor([[1, -7]], "int32").data).toEqual(Int32Array.of(1, -7));
    expect(tensor([0.5], "float16").data).toEqual(Uint16Array.of(0x3800));
    expect(tensor([0.5], "bfloat16")).toEqual({ data: Uint16Array.of(0x3f00), shape: [1], dtype: "bfloat16" });
    expect(tensor([127, -128], "int8").data).toEqual(Int8Array.of(127, -128));
  });

  test("of plain numbers takes a shape, and a dtype behind it", () => {
    expect(tensor([1, 2, 3, 4], [2, 2])).toEqual(tensor([[1, 2], [3, 4]])); // oxfmt-ignore
    expect(tensor([1, 0], [2, 1], "bool")).toEqual({ data: Uint8Array.of(1, 0), shape: [2, 1], dtype: "bool" });
  });

  test("takes typed arrays as rows", () => {
    expect(tensor([floats(1, 2), floats(3, 4)] as unknown as number[][])).toEqual(tensor([1, 2, 3, 4], [2, 2]));
  });

  test.each<[what: string, make: () => unknown, error: typeof HeadwiseError, message: string]>([
    ["rows of different lengths", () => tensor([[1, 2], [3]]), ShapeError, "tensor: data[1] must be as long as the first array of its depth, got 1 and 2"], // oxfmt-ignore
    ["a number beside an array", () => tensor([[1], 2]), ShapeError, "tensor: data[1] must be an array like those beside it"], // oxfmt-ignore
    ["an array beside a number", () => tensor([1, [2]]), ShapeError, "tensor: data[1] must be a number like those beside it"], // oxfmt-ignore
    ["text", () => tensor([["1"]] as never), OptionError, 'tensor: data[0][0] must be a number or a boolean, got "1"'],
    [
      "a hole",
      () => tensor([1, undefined, 2] as never),
      OptionError,
      "tensor: data[1] must be a number or a boolean, got undefined",
    ], // oxfmt-ignore
    ["a boolean among numbers", () => tensor([1, true] as never), OptionError, "tensor: data[1] must be a number, got true"], // oxfmt-ignore
    ["a fraction as int32", () => tensor([1.5], "int32"), OptionError, "tensor: data[0] must be an integer of 32 bits, got 1.5"], // oxfmt-ignore
    ["a 2 as bool", () => tensor([1, 2], "bool"), OptionError, "tensor: data[1] must be true, false, 1 or 0, got 2"],
    ["a shape that does not fit", () => tensor([1, 2, 3], [2, 2]), ShapeError, "tensor: tensor.data.length must be the product of shape [2, 2], got 3 and 4"], // oxfmt-ignore
    [
      "more than 8 bits",
      () => tensor([128], "int8"),
      OptionError,
      "tensor: data[0] must be an integer of 8 bits, got 128",
    ],
    ["an unknown dtype", () => tensor([1], "float64" as never), OptionError, 'tensor: dtype must be "float32" or "float16" or "bfloat16" or "int8" or "bool" or "int32", got "float64"'], // oxfmt-ignore
  ])("refuses %s", (_what, make, error, message) => {
    const thrown = thrownBy(make);
    expect(thrown.name).toBe(error.name);
    expect(thrown.message).toBe(message);
  });

  test("refuses arrays that hold themselves or share levels without end", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(ShapeError.is(thrownBy(() => tensor(circle as never)))).toBe(true);
    let shared: unknown = [1];
    for (let level = 0; level < 31; ++level) shared = [shared, shared];
    expect(OptionError.is(thrownBy(() => tensor(shared as never)))).toBe(true);
  });
});

describe("toNested", () => {
  test.each([
    [[[1, 0.5], [-2, 3]]], // oxfmt-ignore
    [
      [
        [[1], [2]],
        [[3], [4]],
      ],
    ],
    [[1, 2, 3]],
    [[[], []]],
  ])("gives back %j", (nested) => {
    expect(toNested(tensor(nested as never))).toEqual(nested);
  });

  test("gives booleans, integers, the numbers of float16, and of rank 0 a number", () => {
    expect(toNested(tensor([[true, false]]))).toEqual([[true, false]]);
    expect(toNested(tensor([[1, -2]], "int32"))).toEqual([[1, -2]]);
    expect(toNested(tensor(toFloat16([0.5, 65504]), [2]))).toEqual([0.5, 65504]);
    expect(toNested(tensor(Uint16Array.of(0x3f00, 0x4780), [2], "bfloat16"))).toEqual([0.5, 65536]);
    expect(toNested(tensor(floats(7), []))).toBe(7);
  });

  test("refuses what is no tensor", () => {
    expect(thrownBy(() => toNested(undefined as never)).message).toMatch(/^toNested: tensor must be a tensor/);
  });
});

describePlainArguments("headwise", () => createAttention({ threads: 1 }));
describePlainArguments("headwise/inline", () => createInline());
describePlainArguments("headwise/worker", () => createInWorker({ threads: 1 }));
