import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  createAttention,
  DisposedError,
  OptionError,
  ShapeError,
  UnsupportedError,
  type AllocateOptions,
  type Attention,
  type AttentionOptions,
  type HeadwiseError,
} from "headwise";

import { thrownBy } from "./thrownBy.js";

const floats = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => Math.sin(k + 1)),
  shape,
});

async function rejection(promise: Promise<unknown>): Promise<HeadwiseError> {
  return promise.then(
    () => {
      throw new Error("it was not rejected");
    },
    (reason: HeadwiseError) => reason,
  );
}

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ variant: "simd", threads: 2 });
});
afterAll(() => hw.dispose());

describe("a tensor inside the engine", () => {
  const x = floats(2, 9, 8);
  const inside = () => {
    const tensor = hw.allocate(x.shape);
    tensor.data.set(x.data);
    return tensor;
  };

  test("starts as zeros of the shape and dtype", () => {
    using tensor = hw.allocate([2, 3], "int32");
    expect([...tensor.data]).toEqual([0, 0, 0, 0, 0, 0]);
    expect(tensor).toMatchObject({ shape: [2, 3], dtype: "int32" });
    using byDefault = hw.allocate([1]);
    expect(byDefault.dtype).toBe("float32");
  });

  test("is not cleared with zeros: false: what it is filled with is the same", async () => {
    const { output } = await hw.scaledDotProductAttention(x, x, x);
    using first = hw.allocate([2 ** 20]);
    first.data.fill(NaN);
    first.dispose(); // so that the next tensor lies where numbers are already
    using tensor = hw.allocate([2 ** 20], "float32", { zeros: false });
    expect(tensor.data.some(Number.isNaN)).toBe(true);
    const view = { data: tensor.data.subarray(0, x.data.length), shape: x.shape };
    view.data.set(x.data);
    expect((await hw.scaledDotProductAttention(view, view, view)).output.data).toEqual(output.data);
    using cleared = hw.allocate([2 ** 20]);
    expect(cleared.data.every((number) => number === 0)).toBe(true);
  });

  test.each([
    ["OptionError", { zeros: "no" }, 'allocate: zeros must be true or false, got "no"'],
    ["OptionError", { zero: false }, /allocate: .*zero/],
  ])("refuses other options (%s)", (_, options, message) => {
    expect(() => hw.allocate([2], "float32", options as AllocateOptions)).toThrow(message);
  });

  test("gives the same bits as an array outside, read and written in place", async () => {
    const outside = await hw.scaledDotProductAttention(x, x, x, { causal: true });
    using q = inside();
    using into = hw.allocate(x.shape);
    const { output } = await hw.scaledDotProductAttention(q, q, q, { causal: true, into });
    expect(output).toBe(into);
    expect(new Float32Array(into.data)).toEqual(outside.output.data);
  });

  test("may be read through a view of a part of it", async () => {
    using tensor = hw.allocate([3, 9, 8]);
    tensor.data.set(x.data, 72);
    const part = { data: tensor.data.subarray(72), shape: [2, 9, 8] };
    const { output } = await hw.scaledDotProductAttention(part, part, part);
    expect(output.data).toEqual((await hw.scaledDotProductAttention(x, x, x)).output.data);
  });

  test("stays readable after the engine's memory has grown", async () => {
    using q = inside();
    const before = (await hw.scaledDotProductAttention(q, q, q)).output.data;
    using large = hw.allocate([40, 2 ** 20]);
    expect(large.data).toHaveLength(40 * 2 ** 20);
    expect([...q.data.subarray(0, 3)]).toEqual([...x.data.subarray(0, 3)]);
    expect((await hw.scaledDotProductAttention(q, q, q)).output.data).toEqual(before);
  });

  test("of another instance is copied like any array", async () => {
    const other = await createAttention({ variant: "simd", threads: 1 });
    using q = inside();
    const { output } = await other.scaledDotProductAttention(q, q, q);
    expect(output.data).toEqual((await hw.scaledDotProductAttention(x, x, x)).output.data);
    other.dispose();
  });

  test("must not be written while it is read", async () => {
    using q = inside();
    const error = await rejection(hw.scaledDotProductAttention(x, q, x, { into: q }));
    expect(OptionError.is(error)).toBe(true);
    expect(error.message).toMatch(/into must not overlap key/);
  });

  test("is gone after dispose, also for calls that hold a view of it", async () => {
    const tensor = inside();
    const view = { data: tensor.data, shape: tensor.shape };
    tensor.dispose();
    tensor.dispose();
    expect(DisposedError.is(thrownBy(() => tensor.data))).toBe(true);
    const refused = await rejection(hw.scaledDotProductAttention(tensor, x, x));
    expect(DisposedError.is(refused)).toBe(true);
    expect(refused.message).toBe("scaledDotProductAttention: query could not be read: tensor: it was disposed");
    const error = await rejection(hw.scaledDotProductAttention(x, x, view));
    expect(error.message).toBe("scaledDotProductAttention: value lies in a tensor that was disposed");
  });

  test.each([
    [[-1], "float32", ShapeError],
    [[2.5], "float32", ShapeError],
    ["4", "float32", ShapeError],
    [[4], "float64", OptionError],
    [[2 ** 31 - 1, 2 ** 31 - 1, 4], "float32", ShapeError],
  ])("of shape %p and dtype %p is refused", (shape, dtype, Type) => {
    const error = thrownBy(() => hw.allocate(shape as number[], dtype as "float32"));
    expect(Type.is(error)).toBe(true);
    expect(String(error)).toMatch(/: allocate: (tensor\.shape|dtype)\b/);
  });
});

describe("an output", () => {
  const x = floats(4, 8);

  test("is an array of the caller's own, not shared with the engine or the inputs", async () => {
    const { output, lse } = await hw.scaledDotProductAttention(x, x, x, { returns: { lse: true } });
    for (const { data } of [output, lse])
      expect(Object.prototype.toString.call(data.buffer)).toBe("[object ArrayBuffer]");
    expect(output.data.buffer.byteLength).toBe(x.data.byteLength);
  });

  test("is written into the caller's tensor when one is given", async () => {
    const into = { data: new Float32Array(32), shape: [4, 8] };
    const { output } = await hw.scaledDotProductAttention(x, x, x, { into });
    expect(output).toBe(into);
    expect(into.data).toEqual((await hw.scaledDotProductAttention(x, x, x)).output.data);
  });

  test("may be written over an input: the array is read before", async () => {
    const copy = { data: x.data.slice(), shape: x.shape };
    await hw.scaledDotProductAttention(copy, copy, copy, { into: copy });
    expect(copy.data).toEqual((await hw.scaledDotProductAttention(x, x, x)).output.data);
  });

  test("is of the query's dtype, or of that of `into`", async () => {
    const half = { data: new Uint16Array(32).fill(0x3c00), shape: [4, 8] };
    const { output } = await hw.scaledDotProductAttention(half, half, half);
    expect(output).toEqual({ ...half, dtype: "float16" });
    const into = { data: new Float32Array(32), shape: [4, 8] };
    await hw.scaledDotProductAttention(half, half, half, { into });
    expect(into.data).toEqual(new Float32Array(32).fill(1));
  });

  test("is left out when it is not wanted", async () => {
    const result = await hw.scaledDotProductAttention(x, x, x, { returns: { output: false, lse: true } });
    expect(Object.keys(result)).toEqual(["lse"]);
  });
});

describe("overlapping calls", () => {
  const x = floats(8, 64, 64);

  test("give the results that they give one by one", async () => {
    const options: AttentionOptions[] = [{ causal: true }, { scale: 1 }, {}, { softcap: 2 }];
    const alone = [];
    for (const one of options) alone.push(await hw.scaledDotProductAttention(x, x, x, one));
    expect(await Promise.all(options.map((one) => hw.scaledDotProductAttention(x, x, x, one)))).toEqual(alone);
  });

  test("wait for each other, and one that waits can be aborted", async () => {
    const controller = new AbortController();
    const first = hw.scaledDotProductAttention(x, x, x);
    const second = hw.scaledDotProductAttention(x, x, x, { signal: controller.signal });
    controller.abort();
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    await expect(first).resolves.toHaveProperty("output");
  });

  test("with a bad one among them fail alone", async () => {
    const bad = hw.scaledDotProductAttention(x, x, floats(7, 64, 64));
    const good = hw.scaledDotProductAttention(x, x, x);
    await expect(bad).rejects.toMatchObject({ name: "ShapeError" });
    await expect(good).resolves.toHaveProperty("output");
  });
});

describe("merging", () => {
  const [query, key, value] = [floats(2, 5, 8), floats(2, 12, 8), floats(2, 12, 4)];
  const rows = (x: typeof key, from: number, to: number) => ({
    data: Float32Array.from(
      [0, 1].flatMap((h) => [...x.data.subarray((h * 12 + from) * x.shape[2]!, (h * 12 + to) * x.shape[2]!)]),
    ),
    shape: [2, to - from, x.shape[2]!],
  });
  const part = (from: number, to: number, options: Omit<AttentionOptions, "location"> = {}) =>
    hw.scaledDotProductAttention(query, rows(key, from, to), rows(value, from, to), {
      ...options,
      returns: { lse: true },
    });

  test("parts over disjoint keys gives the result over all of them", async () => {
    const whole = await hw.scaledDotProductAttention(query, key, value, { sinks: [0.5, -1], returns: { lse: true } });
    const merged = await hw.mergeAttention([await part(0, 3), await part(3, 12)], { sinks: [0.5, -1] });
    expect(merged.output).toMatchObject({ shape: whole.output.shape, dtype: "float32" });
    expect(merged.lse.shape).toEqual(whole.lse.shape);
    // at most 4 ulp of Σ p|v| ≤ 1, in addition to the rounding of both calls
    for (const part of ["output", "lse"] as const)
      for (const [n, x] of Array.from(whole[part].data).entries())
        expect(Math.abs(x - merged[part].data[n]!)).toBeLessThan(2e-6);
  });

  test("refuses parts whose options the numbers no longer show", async () => {
    const good = await part(0, 3);
    const withSinks = await rejection(hw.mergeAttention([good, await part(3, 12, { sinks: [0, 0] })]));
    expect(withSinks.message).toBe(
      "mergeAttention: parts[1] was computed with sinks: give them to mergeAttention instead",
    );
    const nan = await part(3, 12, { emptyRows: "nan" });
    const repacked = { output: nan.output, lse: { data: nan.lse.data, shape: nan.lse.shape } };
    expect((await rejection(hw.mergeAttention([good, repacked]))).message).toMatch(/parts\[1\].*emptyRows "nan"/);
  });

  test.each([
    [[], OptionError, /at least one \{ output, lse \}, got \[\]/],
    ["x", OptionError, /parts must be an array/],
    [[{ output: floats(2, 5, 4) }], OptionError, /parts\[0\] must be \{ output, lse \}/],
    [[{ output: floats(2, 5, 4), lse: floats(5) }], ShapeError, /parts\[0\]\.lse\.shape/],
    [
      [
        { output: floats(2, 5, 4), lse: floats(2, 5) },
        { output: floats(2, 6, 4), lse: floats(2, 6) },
      ],
      ShapeError,
      /parts\[1\]\.output\.shape must be that of parts\[0\]/,
    ],
  ])("refuses %j", async (parts, Type, message) => {
    const error = await rejection(hw.mergeAttention(parts as never));
    expect(Type.is(error)).toBe(true);
    expect(error.message).toMatch(message);
  });
});

describe("warming up", () => {
  test.each(["BHSD", "BSHD", "BSE", "BES"] as const)("takes a shape in layout %s", async (layout) => {
    await hw.warmup({ numHeads: 4, numKvHeads: 2, queryLength: 5, keyLength: 9, headDim: 8 }, { layout, causal: true });
  });

  test.each([
    [{ numHeads: 2, queryLength: 4 }, /warmup: shape\.headDim must be given/],
    [{ numHeads: 2, queryLength: 4, headDim: 8, heads: 2 }, /unknown option "heads" in shape/],
    [{ numHeads: 3, numKvHeads: 2, queryLength: 4, headDim: 8 }, /must divide/],
  ])("refuses %j", async (shape, message) => {
    expect((await rejection(hw.warmup(shape as never))).message).toMatch(message);
  });
});

test("encoding GPU commands is refused by the wasm engine", async () => {
  const x = floats(2, 2);
  const wasm = await createAttention({ backend: "wasm", threads: 1 });
  const error = await rejection(
    Promise.resolve().then(() => wasm.scaledDotProductAttention(x as never, x as never, x as never, { encoder: {} })),
  );
  wasm.dispose();
  expect(UnsupportedError.is(error)).toBe(true);
  expect(error.message).toMatch(/^scaledDotProductAttention: encoder needs WebGPU: this instance computes with wasm/);
});

describe("a disposed instance", () => {
  const x = floats(2, 2);

  test("refuses every call by its name, and disposing twice is harmless", async () => {
    const gone = await createAttention({ variant: "simd", threads: 2 });
    const tensor = gone.allocate([2, 2]);
    const { output } = await gone.scaledDotProductAttention(x, x, x);
    const before = [...output.data];
    gone.dispose();
    gone.dispose();
    const calls: Record<string, () => unknown> = {
      scaledDotProductAttention: () => gone.scaledDotProductAttention(x, x, x),
      mergeAttention: () => gone.mergeAttention([]),
      warmup: () => gone.warmup({ numHeads: 1, queryLength: 1, headDim: 1 }),
      allocate: () => gone.allocate([1]),
    };
    for (const [name, call] of Object.entries(calls)) {
      const error = await rejection(Promise.resolve().then(call));
      expect(DisposedError.is(error)).toBe(true);
      expect(error.message).toBe(`${name}: the instance was disposed`);
    }
    expect([...output.data]).toEqual(before);
    tensor.dispose();
  });

  test("rejects the calls that still wait", async () => {
    const gone = await createAttention({ variant: "simd", threads: 2 });
    const [running, waiting] = [gone.scaledDotProductAttention(x, x, x), gone.scaledDotProductAttention(x, x, x)];
    gone.dispose();
    await running;
    expect(DisposedError.is(await rejection(waiting))).toBe(true);
  });

  test("is what `using` and `await using` leave behind", async () => {
    let left: Attention;
    {
      using scoped = await createAttention({ variant: "simd", threads: 1 });
      left = scoped;
    }
    expect(DisposedError.is(await rejection(left.scaledDotProductAttention(x, x, x)))).toBe(true);
    {
      await using scoped = await createAttention({ variant: "simd", threads: 1 });
      left = scoped;
    }
    expect(DisposedError.is(await rejection(left.scaledDotProductAttention(x, x, x)))).toBe(true);
  });
});
