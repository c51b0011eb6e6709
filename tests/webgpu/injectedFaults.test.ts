import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { createAttention, DeviceLostError, OutOfMemoryError, type Attention, type Layer, type Tensor } from "headwise";

import { float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { LosingGpu, PoorGpu } from "./faultyGpu.js";
import { describeOnGpu, describeOnNullGpu, gpu, nullGpu } from "./gpu.js";

const x = randomTensor(1, [1, 2, 4, 8]);
const tokens = randomTensor(2, [1, 4, 16]);
const weight = randomTensor(3, [16, 16]);
const weights = { Wq: weight, Wk: weight, Wv: weight, Wo: weight };
const returns = { probs: true, topK: 2, lse: true } as const;

type Work = (hw: Attention, layer: Layer) => Promise<unknown>;

/** Every operation that computes on the GPU. Each begins without any state. */
const operations: [string, Work][] = [
  ["scaledDotProductAttention", (hw) => hw.scaledDotProductAttention(x, x, x, { returns })],
  ["results on the GPU", async (hw) => {
    const { output } = await hw.scaledDotProductAttention(x, x, x, { location: "gpu" });
    return output.data();
  }],
  ["a result on the GPU as an input, and one that stays", async (hw) => {
    const options = { location: "gpu", returns: { ...returns, scores: "raw", entropy: true } } as const;
    const { output, topK } = await hw.scaledDotProductAttention(x, x, x, options);
    await hw.scaledDotProductAttention(x, output, output, { into: output });
    return topK.indices.data();
  }],
  ["warmup of the GPU", (hw) => hw.warmup({ numHeads: 2, queryLength: 4, headDim: 8 }, { location: "gpu" })],
  ["rotaryEmbedding", (hw) => hw.rotaryEmbedding(x)],
  ["mergeAttention", async (hw) => {
    const lse = randomTensor(4, [1, 2, 4]);
    return hw.mergeAttention([{ output: x, lse }, { output: x, lse }]);
  }],
  ["rotaryEmbedding and mergeAttention on the GPU", async (hw) => {
    const there = await hw.rotaryEmbedding(x, { location: "gpu" });
    const { output, lse } = await hw.scaledDotProductAttention(there, x, x, { returns: { lse: true }, location: "gpu" });
    const merged = await hw.mergeAttention([{ output, lse }], { location: "gpu" });
    return merged.lse.data();
  }],
  ["recorded calls", async (hw) => {
    await hw.prepare({ numHeads: 2, queryLength: 4, headDim: 8 });
    const there = await hw.upload(x);
    const device = hw.device as GPUDevice;
    const encoder = device.createCommandEncoder();
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8 });
    await hw.encode(encoder, there, there, there);
    await cache.encodeAppend(encoder, there, there);
    const { output } = await cache.encodeAttend(encoder, there);
    device.queue.submit([encoder.finish()]);
    return output.data();
  }],
  ["multiHeadAttention", (hw) => hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights })],
  ["layer.forward", (_, layer) => layer.forward(tokens)],
  ["attentionBackward", (hw) => {
    const wanted = { dQuery: true, dKey: true, dValue: true, dHeadGain: true } as const;
    const results = { output: x, lse: randomTensor(4, [1, 2, 4]), dOutput: x };
    return hw.attentionBackward({ query: x, key: x, value: x, ...results, returns: wanted });
  }],
  ["linear and its gradient", async (hw) => {
    const y = await hw.linear(tokens, weight);
    return hw.linearBackward({ x: tokens, weight, dOutput: y });
  }],
  ["a saved call and its gradient", async (_, layer) => {
    const { saved } = await layer.forward(tokens, { save: true });
    return layer.backward(saved, tokens);
  }],
  ["layer.forward with a cache", async (hw, layer) =>
    layer.forward(tokens, { cache: await hw.kvCache({ numKvHeads: 2, headDim: 8 }) })],
  ["caches", async (hw) => {
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8, dtype: "int8", rotary: {} });
    await cache.append(x, x);
    await cache.attend(x);
    const part = await (await cache.fork()).slice(1, 3);
    await part.append(x, x);
    return hw.loadCache(await part.save());
  }],
]; // prettier-ignore

const settled = (work: Promise<unknown>): Promise<unknown> =>
  work.then(() => "it was computed", (reason: unknown) => reason); // prettier-ignore

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeAll(() => {
  process.on("unhandledRejection", note);
});
afterAll(() => {
  process.off("unhandledRejection", note);
});
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 10)); // reported after the current turn
  expect(unhandled.splice(0)).toEqual([]);
});

describeOnNullGpu("a device that is lost at any step", () => {
  let losing: LosingGpu;
  let hw: Attention;
  let layer: Layer;
  beforeAll(async () => {
    losing = new LosingGpu();
    hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
    layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights });
  });
  afterAll(() => {
    hw.dispose();
    losing.restore();
  });

  test.each(operations)("%s rejects with DeviceLostError, and the next call works", async (_, work) => {
    await work(hw, layer);
    losing.lose();
    await work(hw, layer);
    const { taken } = losing;
    expect(taken).toBeGreaterThan(1);
    for (let at = 1; at <= taken; ++at)
      for (const moment of ["taken", "done"] as const) {
        losing.lose(at, moment);
        const outcome = await settled(work(hw, layer));
        // A result that was complete before the device was lost may be returned.
        const isExpected = DeviceLostError.is(outcome) || (outcome === "it was computed" && losing.taken >= taken);
        expect([at, moment, isExpected || String(outcome)]).toEqual([at, moment, true]);
        losing.lose();
        expect([at, moment, await settled(work(hw, layer))]).toEqual([at, moment, "it was computed"]);
      }
  });

  test("createAttention rejects with DeviceLostError, or the first call opens another device", async () => {
    losing.lose();
    (await createAttention({ backend: "webgpu", gpu: nullGpu! })).dispose();
    const { taken } = losing;
    for (let at = 1; at <= taken; ++at) {
      losing.lose(at);
      const outcome: unknown = await createAttention({ backend: "webgpu", gpu: nullGpu! }).catch(
        (error: unknown) => error,
      );
      losing.lose();
      if (!DeviceLostError.is(outcome)) {
        await (outcome as Attention).scaledDotProductAttention(x, x, x);
        (outcome as Attention).dispose();
      }
    }
  });
});

describeOnGpu("a device that computes and is lost", () => {
  let losing: LosingGpu;
  let expected: Float32Array;
  beforeAll(async () => {
    losing = new LosingGpu();
    const onCpu = await createAttention({ backend: "wasm", threads: 1 });
    expected = float32Of((await onCpu.scaledDotProductAttention(x, x, x)).output);
    onCpu.dispose();
  });
  afterAll(() => losing.restore());

  const isRight = (output: Tensor) =>
    float32Of(output).every((number, n) => Math.abs(number - expected[n]!) <= 1e-5) && float32Of(output).length > 0;

  test("never gives zeros for results", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    losing.lose();
    await hw.scaledDotProductAttention(x, x, x);
    const { taken } = losing;
    for (const at of [1, taken - 1, taken])
      for (const moment of ["taken", "done"] as const) {
        losing.lose(at, moment);
        const outcome: unknown = await hw.scaledDotProductAttention(x, x, x).catch((error: unknown) => error);
        const isLost = DeviceLostError.is(outcome);
        expect([at, moment, isLost || isRight((outcome as { output: Tensor }).output)]).toEqual([at, moment, true]);
        losing.lose();
        expect(isRight((await hw.scaledDotProductAttention(x, x, x)).output)).toBe(true);
      }
    hw.dispose();
  });
});

describeOnNullGpu("a device without memory", () => {
  let poor: PoorGpu;
  beforeAll(() => {
    poor = new PoorGpu();
  });
  afterAll(() => poor.restore());

  /** An instance of its own, because a pool that has all its buffers makes none. */
  const open = async () => {
    poor.fail();
    const hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
    return { hw, layer: await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights }) };
  };

  test.each(operations)(
    "%s rejects with OutOfMemoryError for every buffer, and the next call works",
    async (_, work) => {
      const first = await open();
      poor.fail();
      await work(first.hw, first.layer);
      first.hw.dispose();
      const { made } = poor;
      expect(made).toBeGreaterThan(1);
      for (let at = 1; at <= made; ++at) {
        const { hw, layer } = await open();
        poor.fail(at);
        const outcome = await settled(work(hw, layer));
        expect([at, OutOfMemoryError.is(outcome) || String(outcome)]).toEqual([at, true]);
        poor.fail();
        expect([at, await settled(work(hw, layer))]).toEqual([at, "it was computed"]);
        hw.dispose();
      }
    },
  );

  test("an append that finds no memory leaves the cache as it was", async () => {
    const { hw } = await open();
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8 });
    await cache.append(x, x);
    const before = await cache.save();
    const long = randomTensor(5, [1, 2, 500, 8]);
    let outcome: unknown;
    for (let at = 1; outcome !== "it was computed"; ++at) {
      poor.fail(at);
      outcome = await settled(cache.append(long, long));
      if (outcome === "it was computed") break;
      expect([at, OutOfMemoryError.is(outcome), cache.length]).toEqual([at, true, 4]);
      poor.fail();
      expect([at, Buffer.compare(await cache.save(), before)]).toEqual([at, 0]);
    }
    expect(cache.length).toBe(504);
    hw.dispose();
  });
});
