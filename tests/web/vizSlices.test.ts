import { expect, test } from "@jest/globals";

import { Slices, type Slice } from "../../web/src/viz/slices.js";

const KEYS = 2 ** 16; // four rows in a slice

/** A source that answers when the test says so, and the calls that it got. */
function slowSource(queries = 64) {
  const calls: { head: number; from: number; to: number; answer: () => void; fail: (error: Error) => void }[] = [];
  const rows = (head: number, from: number, to: number) =>
    new Promise<Float32Array>((resolve, reject) => {
      const data = Float32Array.from({ length: (to - from) * KEYS }, (_, i) => from + Math.floor(i / KEYS));
      calls.push({ head, from, to, answer: () => resolve(data), fail: reject });
    });
  return { source: { heads: 2, queries, keys: KEYS, rows }, calls };
}

function slicesOf(source: ReturnType<typeof slowSource>["source"], maximumBytes = Infinity) {
  const came: Slice[] = [];
  const errors: unknown[] = [];
  const events = { onSlice: (slice: Slice) => came.push(slice), onError: (error: unknown) => errors.push(error) };
  return { slices: new Slices(source, events, maximumBytes), came, errors };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("asks for one slice at a time, in the order of the wishes", async () => {
  const { source, calls } = slowSource();
  const { slices } = slicesOf(source);
  expect(slices.rowsPerSlice).toBe(4);
  slices.want(slices.slicesOf(1, 6, 13));
  await settled();
  expect(calls.map(({ head, from, to }) => [head, from, to])).toEqual([[1, 4, 8]]);
  calls[0]!.answer();
  await settled();
  expect(calls.map(({ from }) => from)).toEqual([4, 8]);
  expect(slices.row(1, 6)?.slice(0, 2)).toEqual(Float32Array.of(6, 6));
  expect(slices.row(1, 8)).toBeUndefined();
  expect(slices.row(0, 6)).toBeUndefined();
});

test("never asks for what has left the view", async () => {
  const { source, calls } = slowSource();
  const { slices } = slicesOf(source);
  slices.want(slices.slicesOf(0, 0, 40));
  slices.want(slices.slicesOf(0, 60, 64));
  calls[0]!.answer();
  await settled();
  calls[1]!.answer();
  await settled();
  expect(calls.map(({ from }) => from)).toEqual([0, 60]);
});

test("asks anew for nothing that is on its way or here", async () => {
  const { source, calls } = slowSource();
  const { slices } = slicesOf(source);
  slices.want(slices.slicesOf(0, 0, 4));
  slices.want(slices.slicesOf(0, 0, 4));
  calls[0]!.answer();
  await settled();
  slices.want(slices.slicesOf(0, 0, 4));
  await settled();
  expect(calls).toHaveLength(1);
});

test("the last slice ends with the last row", async () => {
  const { source, calls } = slowSource(6);
  const { slices } = slicesOf(source);
  slices.want(slices.slicesOf(0, 5, 6));
  await settled();
  expect([calls[0]!.from, calls[0]!.to]).toEqual([4, 6]);
});

test("keeps no more than its bound, and forgets what was wished for longest ago", async () => {
  const { source, calls } = slowSource();
  const { slices } = slicesOf(source, 3 * 4 * KEYS * 4);
  expect(slices.rowsKept).toBe(12);
  const come = async (index: number) => {
    slices.want([{ head: 0, index }]);
    calls.at(-1)!.answer();
    await settled();
  };
  for (const index of [0, 1, 2]) await come(index);
  slices.want([{ head: 0, index: 0 }]); // it counts as just used again
  await come(3);
  expect([0, 1, 2, 3].map((index) => slices.has({ head: 0, index }))).toEqual([true, false, true, true]);
});

test("a failure is told once, and nothing is asked for any more", async () => {
  const { source, calls } = slowSource();
  const { slices, errors } = slicesOf(source);
  slices.want(slices.slicesOf(0, 0, 64));
  calls[0]!.fail(new Error("lost"));
  await settled();
  expect(errors).toEqual([new Error("lost")]);
  expect(calls).toHaveLength(1);
  slices.want(slices.slicesOf(0, 0, 4));
  await settled();
  expect(calls).toHaveLength(1);
});

test("what comes after it was closed is dropped", async () => {
  const { source, calls } = slowSource();
  const { slices, came } = slicesOf(source);
  slices.want(slices.slicesOf(0, 0, 64));
  slices.close();
  calls[0]!.answer();
  await settled();
  expect(came).toEqual([]);
  expect(calls).toHaveLength(1);
});

test("a source that has its rows gives them at once", () => {
  const rows = (_: number, from: number, to: number) => new Float32Array((to - from) * 3).fill(from);
  const { slices, came } = slicesOf({ heads: 1, queries: 5000, keys: 3, rows } as never);
  slices.want(slices.slicesOf(0, 0, 5000));
  expect(came).toHaveLength(5);
  expect(slices.row(0, 4999)).toEqual(Float32Array.of(4096, 4096, 4096));
});
