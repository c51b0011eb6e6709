import vm from "node:vm";

import { describe, expect, test } from "@jest/globals";

import { OptionError, ShapeError, UnsupportedError } from "../../web/src/base/errors.js";
import { CallArguments } from "../../web/src/read/callArguments.js";
import { tensor } from "../../web/src/read/newTensor.js";
import { thrownBy } from "./thrownBy.js";

describe("tensor", () => {
  test.each([
    [new Float32Array(6), "float32"],
    [new Uint16Array(6), "float16"],
    [new Uint8Array(6), "bool"],
    [new Int32Array(6), "int32"],
  ])("of %p is %s, refers to the array and copies the shape", (data, dtype) => {
    const shape = [2, 3];
    const made = tensor(data as Float32Array, shape);
    expect(made).toEqual({ data, shape, dtype });
    expect(made.data).toBe(data);
    expect(made.shape).not.toBe(shape);
  });

  test("takes any rank, and extents of 0", () => {
    expect(tensor(new Float32Array(1), []).shape).toEqual([]);
    expect(tensor(new Float32Array(0), [4, 0, 7]).shape).toEqual([4, 0, 7]);
  });

  test("accepts arrays of another realm, for which instanceof is false", () => {
    const data = vm.runInNewContext("new Float32Array(2)") as Float32Array;
    expect(data).not.toBeInstanceOf(Float32Array);
    expect(tensor(data, [2]).dtype).toBe("float32");
  });

  test.each([
    [[2, 2], /^tensor: tensor\.data\.length must be the product of shape \[2, 2\], got 6 and 4$/],
    [[-1, 6], /tensor\.shape\[0\] must be an integer from 0 to 2147483647, got -1/],
    [[1.5, 4], /tensor\.shape\[0\].*1\.5/],
    [[NaN], /tensor\.shape\[0\].*NaN/],
    [["6"], /tensor\.shape\[0\].*"6"/],
    [[2 ** 31], /tensor\.shape\[0\]/],
    [[2 ** 30, 2 ** 30, 2 ** 30], /more elements than can be counted/],
    [6, /tensor\.shape must be an array of integers, got 6/],
  ])("refuses shape %p", (shape, message) => {
    const error = thrownBy(() => tensor(new Float32Array(6), shape as number[]));
    expect(ShapeError.is(error)).toBe(true);
    expect(error.message).toMatch(message);
  });

  test.each([
    [new Float64Array(6), /Float64Array of 6/],
    [new ArrayBuffer(6), /tensor\.data/],
    [new DataView(new ArrayBuffer(6)), /tensor\.data/],
    [undefined, /undefined/],
  ])("refuses data %p", (data, message) => {
    const error = thrownBy(() => tensor(data as unknown as Float32Array, [6]));
    expect(OptionError.is(error)).toBe(true);
    expect(error.message).toMatch(message);
  });
});

describe("an argument", () => {
  const check = (value: unknown) => () => new CallArguments("op").tensor("query", value, ["float32", "float16"]);

  test("may leave its dtype out, which its data tells", () => {
    expect(check({ data: new Uint16Array(2), shape: [2] })().dtype).toBe("float16");
  });

  test("must not state a dtype that its data does not hold", () => {
    const error = thrownBy(check({ data: new Float32Array(2), shape: [2], dtype: "float16" }));
    expect(error.message).toBe('op: query.dtype must be "float32", which its data (Float32Array) holds, got "float16"');
  });

  test("must be of a dtype that the operation takes", () => {
    const error = thrownBy(check({ data: new Int32Array(2), shape: [2] }));
    expect(error.message).toBe("op: query must be of dtype float32 or float16, got int32");
  });

  test("of bfloat16 is not read as float16", () => {
    const error = thrownBy(check({ data: new Uint16Array(2), shape: [2], dtype: "bfloat16" }));
    expect(error.message).toBe("op: query must be of dtype float32 or float16, got bfloat16");
    expect(error.hint).toContain("toFloat32(tensor) converts it");
  });

  test.each([undefined, null, 3, "x", new Float32Array(2), { data: new Float32Array(2) }, { shape: [2] }])(
    "must be a tensor, which %p is not",
    (value) => {
      const error = thrownBy(check(value));
      expect(OptionError.is(error)).toBe(true);
      expect(error.message).toMatch(/^op: query must be a tensor \{ data, shape \}, got /);
    },
  );

  test("on the GPU is refused by an engine that cannot read it", () => {
    expect(UnsupportedError.is(thrownBy(check({ buffer: {}, shape: [2], dtype: "float32" })))).toBe(true);
  });
});
