// To read arguments runs accessors of the caller. What they dispose is refused before any work, and the instance goes on.

import { describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInWorker } from "headwise/worker";

const numbers = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => Math.sin(k + 1)),
  shape,
});
const x = numbers(2, 4);
const WEIGHTS = { Wq: numbers(4, 4), Wk: numbers(4, 4), Wv: numbers(4, 4), Wo: numbers(4, 4) };
const layerOf = (hw: Attention) => hw.multiHeadAttention({ numHeads: 1, weights: WEIGHTS });
const cacheOf = (hw: Attention) => hw.kvCache({ numKvHeads: 1, headDim: 4 });
const rows = numbers(1, 1, 2, 4);

/** A tensor that disposes something when its numbers are read. */
const disposing = (tensor: { data: Float32Array; shape: number[] }, owner: { dispose(): void }) => ({
  shape: tensor.shape,
  get data() {
    owner.dispose();
    return tensor.data;
  },
});

type Call = (hw: Attention) => Promise<unknown>;
const CALLS: Record<string, Call> = {
  "a step, in an input": async (hw) => {
    const step = await hw.record((r) => ({ y: r.scale(r.input("x", [2, 4]), 3) }));
    return step.run({
      get x() {
        step.dispose();
        return x;
      },
    });
  },
  "a step, in the options": async (hw) => {
    const step = await hw.record((r) => ({ y: r.scale(r.input("x", [2, 4]), 3) }));
    const options = {
      get signal() {
        step.dispose();
        return undefined;
      },
    };
    return step.run({ x }, options);
  },
  "a cache that is appended to": async (hw) => {
    const cache = await cacheOf(hw);
    return cache.append(rows, disposing(rows, cache));
  },
  "a cache that is attended to": async (hw) => {
    const cache = await cacheOf(hw);
    await cache.append(rows, rows);
    return cache.attend(disposing(rows, cache));
  },
  "the cache of a layer's call": async (hw) => {
    const layer = await layerOf(hw);
    const cache = await layer.kvCache();
    return layer.forward(disposing(x, cache), { cache });
  },
  "a layer": async (hw) => {
    const layer = await layerOf(hw);
    return layer.forward(disposing(x, layer));
  },
  "what a layer has saved": async (hw) => {
    const layer = await layerOf(hw);
    const { saved } = await layer.forward(x, { save: true });
    return layer.backward(saved, disposing(x, saved));
  },
};

describe.each([
  ["in this thread", createAttention],
  ["in a worker", createInWorker],
] as const)("an accessor that disposes, %s", (_, create) => {
  test.each(Object.entries(CALLS))("%s: a DisposedError, and the instance goes on", async (_name, call) => {
    const hw = await create({ backend: "wasm", threads: 1 });
    await expect(call(hw)).rejects.toMatchObject({ name: "DisposedError" });
    const { output } = await hw.scaledDotProductAttention(rows, rows, rows);
    expect(output.shape).toEqual([1, 1, 2, 4]);
    hw.dispose();
  });
});

// A worker's tensors lie in memory of JavaScript, which stays.
test("an accessor that disposes a tensor in the module's memory: a DisposedError", async () => {
  const hw = await createAttention({ backend: "wasm", threads: 1 });
  const weight = hw.allocate([4, 4]);
  await hw.linear(x, weight); // its code has come
  await expect(hw.linear(x, weight, disposing(numbers(4), weight))).rejects.toMatchObject({ name: "DisposedError" });
  hw.dispose();
});
