import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  createAttention,
  DisposedError,
  HeadwiseError,
  OptionError,
  ShapeError,
  tensor,
  UnsupportedError,
  type Attention,
} from "headwise";

import { bits } from "./close.js";
import { variants } from "./engines.js";
import { breakages } from "./illegalCalls.js";
import { calls } from "./randomCalls.js";
import fc from "fast-check";

const { sin } = Math; // looked up once: a test runner's sandbox is slow to find globals

const floats = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => sin(k + 1)),
  shape,
});

/** The error with which a promise rejects. */
async function reasonOf(promise: Promise<unknown>): Promise<HeadwiseError> {
  const reason: unknown = await promise.then(
    () => "nothing: it was computed",
    (thrown: unknown) => thrown,
  );
  if (!HeadwiseError.is(reason)) throw new Error(`expected a HeadwiseError, got ${String(reason)}`);
  return reason;
}

describe.each(variants)("scaledDotProductAttention on variant %s", (variant) => {
  let hw: Attention;
  let known: () => Promise<unknown>;
  let before: unknown;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
    const [q, k] = [floats(2, 4, 9, 8), floats(2, 2, 33, 8)];
    known = async () => bits(await hw.scaledDotProductAttention(q, k, k, { causal: true, returns: { probs: true } }));
    before = await known();
  });
  afterAll(() => hw.dispose());

  const attend = (q: unknown, k: unknown, v: unknown, options?: object) =>
    hw.scaledDotProductAttention(q as never, k as never, v as never, options);

  async function refuses(call: Promise<unknown>, type: { is(value: unknown): boolean }, message: string | RegExp) {
    const reason = await reasonOf(call);
    expect(reason.message).toMatch(message);
    expect(type.is(reason)).toBe(true);
    expect(await known()).toEqual(before);
  }

  const example = fc.sample(
    calls.filter(({ query: { shape }, options }) => shape.length > 2 && shape[0]! > 0 && !options.cuSeqLensQuery),
    { numRuns: 1, seed: 3 },
  )[0]!;
  const ragged = fc.sample(
    calls.filter(({ options }) => options.cuSeqLensQuery !== undefined),
    { numRuns: 1, seed: 3 },
  )[0]!;

  test.each(breakages)("refuses $what, by name, and stays usable", async ({ breakCall, error, names }) => {
    const broken = breakCall(example) ?? breakCall(ragged);
    if (!broken) throw new Error("neither example can be broken in this way");
    const reason = await reasonOf(attend(broken.query, broken.key, broken.value, broken.options));
    expect(reason.name).toBe(error);
    expect(reason.message).toMatch(names);
    expect(await known()).toEqual(before);
  });

  test("refuses key heads that do not divide the query heads, with both numbers", async () => {
    await refuses(
      attend(floats(1, 8, 4, 8), floats(1, 3, 4, 8), floats(1, 3, 4, 8)),
      ShapeError,
      "scaledDotProductAttention: key.shape[1] (numKvHeads) must divide query.shape[1] (numHeads), got 3 and 8",
    );
  });

  test.each([
    ["batch sizes", floats(2, 1, 4, 8), floats(3, 1, 4, 8), floats(3, 1, 4, 8), /batchSize.*3 and 2/],
    ["head dims of query and key", floats(4, 8), floats(4, 7), floats(4, 8), /headDim.*7 and 8/],
    ["lengths of key and value", floats(4, 8), floats(4, 8), floats(5, 8), /length.*5 and 4/],
    ["heads of key and value", floats(1, 4, 4, 8), floats(1, 2, 4, 8), floats(1, 4, 4, 8), /numHeads.*4 and 2/],
    ["ranks", floats(1, 1, 4, 8), floats(4, 8), floats(4, 8), /rank/],
    ["a head dim of 0", floats(4, 0), floats(4, 0), floats(4, 8), /query\.shape\[1\].*0/],
    ["a value dim of 0", floats(4, 8), floats(4, 8), floats(4, 0), /value\.shape\[1\].*0/],
    ["no key heads", floats(1, 1, 4, 8), floats(1, 0, 4, 8), floats(1, 0, 4, 8), /key\.shape\[1\].*0/],
  ])("refuses different or impossible %s", async (_what, q, k, v, message) => {
    await refuses(attend(q, k, v), ShapeError, message);
  });

  test.each([
    ["undefined", undefined],
    ["null", null],
    ["a number", 3],
    ["text", "12"],
    ["a bare Float32Array", new Float32Array(4)],
    ["an object without data", { shape: [2, 2] }],
    ["an object without shape", { data: new Float32Array(4) }],
    ["text as data", { data: "1234", shape: [2, 2] }],
    ["an ArrayBuffer as data", { data: new ArrayBuffer(16), shape: [2, 2] }],
  ])("refuses %s in place of a tensor", async (_what, value) => {
    await refuses(attend(value, floats(2, 2), floats(2, 2)), OptionError, /^scaledDotProductAttention: query/);
  });

  test("refuses a shape that is no array, and extents that are negative, fractional or NaN", async () => {
    const data = new Float32Array(4);
    for (const shape of [4, "2,2", null, [-2, -2], [0.5, 8], [NaN, 2], ["2", 2]])
      await refuses(attend({ data, shape }, floats(2, 2), floats(2, 2)), ShapeError, /query\.shape/);
  });

  test("refuses a dtype that its data does not hold", async () => {
    const wrong = { data: new Float32Array(4), shape: [2, 2], dtype: "float16" };
    await refuses(attend(wrong, floats(2, 2), floats(2, 2)), OptionError, /query\.dtype.*float16/);
  });

  test("refuses sizes whose product overflows, before any work", async () => {
    const empty = { data: new Float32Array(0), shape: [2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1, 0] };
    await refuses(attend(empty, empty, empty), ShapeError, /query\.shape/);
    const zeroKeys = (S: number) => ({ data: new Float32Array(0), shape: [0, 2 ** 31 - 1, S, 2 ** 31 - 1] });
    await refuses(attend(zeroKeys(2 ** 31 - 1), zeroKeys(1), zeroKeys(1)), ShapeError, /shape|large/);
  });

  test("a result too large for the engine's memory is an OutOfMemoryError, not a trap", async () => {
    const long = floats(1, 1, 40_000, 1);
    const reason = await reasonOf(attend(long, long, long, { returns: { output: false, probs: true } }));
    expect(reason.name).toBe("OutOfMemoryError");
    expect(await known()).toEqual(before);
  });

  test("says of an unknown option what it may have meant", async () => {
    const x = floats(2, 2);
    await refuses(attend(x, x, x, { casual: true }), OptionError, /unknown option "casual".*did you mean "causal"/);
    await refuses(attend(x, x, x, { zzz: 1 }), OptionError, /unknown option "zzz"/);
  });

  test("refuses options that are no object", async () => {
    const x = floats(2, 2);
    for (const options of [null, 3, "causal", [1]])
      await refuses(attend(x, x, x, options as object), OptionError, /options/);
  });

  test("hints at keyLengths when a rank-2 mask looks like one row per batch", async () => {
    const x = floats(3, 1, 4, 8);
    const mask = { data: new Uint8Array(12), shape: [3, 4] };
    const reason = await reasonOf(attend(x, x, x, { mask }));
    expect(reason.name).toBe("ShapeError");
    expect(reason.hint).toMatch(/keyLengths/);
  });

  test("a row that sees no key is named when emptyRows is throw", async () => {
    const x = floats(1, 2, 3, 4);
    const reason = await reasonOf(
      attend(x, x, x, { excludeSelf: true, window: { left: 0, right: 0 }, emptyRows: "throw" }),
    );
    expect(reason.name).toBe("EmptyRowError");
    const rows = (reason as HeadwiseError & { rows: object[] }).rows;
    expect(rows).toHaveLength(6);
    expect(rows[4]).toEqual({ batch: 0, head: 1, query: 1 });
    expect(await known()).toEqual(before);
  });

  test("at most 8 empty rows are listed", async () => {
    const x = floats(1, 5, 3, 4);
    const reason = await reasonOf(attend(x, x, x, { keyLengths: [0], emptyRows: "throw" }));
    expect((reason as HeadwiseError & { rows: object[] }).rows).toHaveLength(8);
  });

  test("GPU tensors and GPU results are unsupported here, and said so", async () => {
    const x = floats(2, 2);
    await refuses(attend({ buffer: {}, shape: [2, 2], dtype: "float32" }, x, x), UnsupportedError, /query.*GPU/);
    await refuses(attend(x, x, x, { location: "gpu" }), UnsupportedError, /location.*gpu/);
  });

  test("inputs are read, not kept: the same arrays serve again and are unchanged", async () => {
    const x = floats(5, 8);
    const copy = x.data.slice();
    const first = await attend(x, x, x);
    const second = await attend(x, x, x);
    expect(x.data).toEqual(copy);
    expect(bits(second as object)).toEqual(bits(first));
  });
});

test("a disposed instance refuses every call, and disposing twice is harmless", async () => {
  const hw = await createAttention({ backend: "wasm", threads: 1 });
  hw.dispose();
  hw.dispose();
  const x = floats(2, 2);
  expect(DisposedError.is(await reasonOf(hw.scaledDotProductAttention(x, x, x)))).toBe(true);
  expect(DisposedError.is(await reasonOf(hw.mergeAttention([])))).toBe(true);
  expect(() => hw.allocate([2])).toThrow(/disposed/);
});

test("a call in flight when the instance is disposed rejects with DisposedError or has its result", async () => {
  const hw = await createAttention({ backend: "wasm", threads: 1 });
  const x = floats(2, 2);
  const pending = [1, 2, 3].map(() => hw.scaledDotProductAttention(x, x, x));
  hw.dispose();
  for (const outcome of await Promise.allSettled(pending))
    if (outcome.status === "rejected") expect(DisposedError.is(outcome.reason)).toBe(true);
});

test("an aborted signal rejects a call that waits with the signal's reason", async () => {
  const hw = await createAttention({ backend: "wasm", threads: 1 });
  const x = floats(2, 2);
  const reason = new Error("changed my mind");
  await expect(hw.scaledDotProductAttention(x, x, x, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  hw.dispose();
});

test.each([
  [{ backend: "cuda" }, /backend.*cuda/],
  [{ threads: 0 }, /threads.*0/],
  [{ threads: 1.5 }, /threads.*1\.5/],
  [{ variant: "avx" }, /variant.*avx/],
  [{ maximumMemory: -1 }, /maximumMemory.*-1/],
  [{ thread: 2 }, /thread.*threads/],
])("createAttention refuses %j", async (options, message) => {
  const reason = await reasonOf(createAttention(options as never));
  expect(OptionError.is(reason)).toBe(true);
  expect(reason.message).toMatch(message);
});

test("tensor() checks what it builds", () => {
  expect(tensor(new Float32Array(6), [2, 3])).toEqual({ data: new Float32Array(6), shape: [2, 3], dtype: "float32" });
  expect(() => tensor(new Float32Array(6), [2, 2])).toThrow(/6 and 4/);
  expect(() => tensor(new Float64Array(2) as never, [2])).toThrow(/Float64Array/);
});
