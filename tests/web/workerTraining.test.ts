// What a training loop calls, in a worker: the same bits as in this thread.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention, type LayerWeights } from "headwise";
import { formula } from "headwise/formula";
import { createAttention as createInWorker } from "headwise/worker";

import { bits } from "./close.js";
import { randomTensor } from "./randomTensor.js";

let here: Attention;
let worker: Attention;
beforeAll(async () => {
  here = await createAttention({ backend: "wasm", threads: 1 });
  worker = await createInWorker({ backend: "wasm", threads: 1 });
});
afterAll(() => {
  here.dispose();
  worker.dispose();
});

/** The bits of the same work in both threads. */
async function both(work: (hw: Attention) => Promise<object>): Promise<readonly [worker: unknown, here: unknown]> {
  return [bits(await work(worker)), bits(await work(here))];
}

test("attentionBackward, with a formula and every gradient", async () => {
  const score = formula("s * w + t[h][q - k + 6]", { w: 1.5, t: Array.from({ length: 4 }, (_, h) => Array.from({ length: 12 }, (_, n) => Math.sin(h + n))) }); // oxfmt-ignore
  const [inWorker, inThread] = await both(async (hw) => {
    const [query, key, value] = [randomTensor(1, [2, 4, 5, 8]), randomTensor(2, [2, 2, 6, 8]), randomTensor(3, [2, 2, 6, 8])]; // oxfmt-ignore
    const options = { score, bias: randomTensor(4, [5, 6]), sinks: [0, 1, 2, 3], alibiSlopes: [1, 2, 3, 4] };
    const { output, lse } = await hw.scaledDotProductAttention(query, key, value, {
      ...options,
      returns: { lse: true },
    });
    const returns = { dQuery: true, dKey: true, dValue: true, dBias: true, dSinks: true, dHeadGain: true, dAlibiSlopes: true, dTables: true }; // oxfmt-ignore
    const dOutput = randomTensor(5, [2, 4, 5, 8]);
    const dLse = randomTensor(6, [2, 4, 5]);
    return hw.attentionBackward({ query, key, value, output, lse, dOutput, dLse, ...options, returns });
  });
  expect(inWorker).toEqual(inThread);
  expect(Object.keys(inWorker as object)).toHaveLength(8);
});

test("linear and linearBackward", async () => {
  const [inWorker, inThread] = await both(async (hw) => {
    const [x, weight, bias] = [randomTensor(1, [3, 5, 8]), randomTensor(2, [8, 6]), randomTensor(3, [6])];
    const into = randomTensor(4, [3, 5, 6]);
    const y = await hw.linear(x, weight, bias, { into });
    expect(y).toBe(into);
    return { y, ...(await hw.linearBackward({ x, weight, dOutput: randomTensor(5, [3, 5, 6]) })) };
  });
  expect(inWorker).toEqual(inThread);
});

const weights = (seed: number): LayerWeights => ({
  Wq: randomTensor(seed, [8, 8]),
  Wk: randomTensor(seed + 1, [8, 8]),
  Wv: randomTensor(seed + 2, [8, 8]),
  Wo: randomTensor(seed + 3, [8, 8]),
  bq: randomTensor(seed + 4, [8]),
});
const x = randomTensor(9, [2, 6, 8]);
const dOutput = randomTensor(10, [2, 6, 8]);
const layerOf = (hw: Attention) => hw.multiHeadAttention({ inputDim: 8, numHeads: 2, weights: weights(1) });

describe("a layer", () => {
  test("that learns: save, backward, accumulate, update", async () => {
    const [inWorker, inThread] = await both(async (hw) => {
      const layer = await layerOf(hw);
      const { output, saved } = await layer.forward(x, { save: true, causal: true });
      const first = await layer.backward(saved, dOutput, { keep: true, dLse: randomTensor(11, [2, 2, 6]) });
      const copies = Object.entries(first.gradients).map(([name, { data }]) => [name, data.slice()]);
      const second = await layer.backward(saved, dOutput, { accumulate: first.gradients });
      expect(second.gradients).toBe(first.gradients);
      await layer.update({ Wq: weights(5).Wq!, bq: weights(5).bq! });
      const after = await layer.forward(x);
      layer.dispose();
      return { output, first, copies: Object.fromEntries(copies) as object, second, after };
    });
    expect(inWorker).toEqual(inThread);
  });

  test("counts the bytes of what it saved, and gives them back", async () => {
    const layer = await layerOf(worker);
    const { saved } = await layer.forward(x, { save: true });
    expect(saved.bytes).toBeGreaterThan(2 * 6 * 8 * 4);
    saved.dispose();
    await expect(layer.backward(saved, dOutput)).rejects.toThrow("layer.backward: saved was disposed");
    layer.dispose();
  });

  test("whose saving call was aborted can be disposed, and the worker goes on", async () => {
    const layer = await layerOf(worker);
    const controller = new AbortController();
    const forward = layer.forward(x, { save: true, signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(forward).rejects.toThrow("enough");
    layer.dispose();
    for (let n = 0; n < 3; ++n) {
      const { output } = await worker.scaledDotProductAttention(x, x, x);
      expect(output.shape).toEqual(x.shape);
    }
  });

  test("refuses what was saved before new weights, and computes afterwards", async () => {
    const layer = await layerOf(worker);
    const { saved } = await layer.forward(x, { save: true });
    await layer.update({ Wq: weights(5).Wq! });
    await expect(layer.backward(saved, dOutput)).rejects.toThrow(/^layer\.backward: saved/);
    const again = await layer.forward(x, { save: true });
    const { dInput } = await layer.backward(again.saved, dOutput);
    expect(dInput.shape).toEqual(x.shape);
    layer.dispose();
  });

  test("whose call is aborted while it runs leaves nothing saved behind, and earlier gradients as they were", async () => {
    const layer = await layerOf(worker);
    const { saved } = await layer.forward(x, { save: true });
    const { gradients } = await layer.backward(saved, dOutput, { keep: true });
    const before = bits(gradients);
    const stop = new AbortController();
    const running = layer.backward(saved, dOutput, { accumulate: gradients, signal: stop.signal });
    await Promise.resolve();
    stop.abort();
    await expect(running).rejects.toThrow();
    await layer.forward(x); // waits until the worker has finished that call
    expect(bits(gradients)).toEqual(before);
    layer.dispose();
  });
});
