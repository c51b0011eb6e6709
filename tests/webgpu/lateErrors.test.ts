import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createAttention, OptionError, type Attention, type GpuTensor } from "headwise";

import { float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { WatchedGpu } from "./faultyGpu.js";
import { describeOnGpu, describeOnNullGpu, gpu, nullGpu, openTestDevice } from "./gpu.js";

const x = randomTensor(1, [1, 2, 4, 8]);
const USAGE = 0x80 | 0x4 | 0x8; // STORAGE | COPY_SRC | COPY_DST

const reasonOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(() => "it was computed", (reason: unknown) => reason); // oxfmt-ignore

describeOnNullGpu("an error that the GPU tells after the call has settled", () => {
  let device: GPUDevice;
  let hw: Attention;
  let uncaptured: string[];
  beforeEach(async () => {
    device = await openTestDevice(nullGpu);
    uncaptured = [];
    device.addEventListener("uncapturederror", ({ error }) => uncaptured.push(error.message));
    hw = await createAttention({ backend: "webgpu", device });
  });
  afterEach(() => {
    hw.dispose();
    device.destroy();
    expect(uncaptured).toEqual([]);
  });

  const given = (): GpuTensor<"float32"> & { buffer: GPUBuffer } => {
    const buffer = device.createBuffer({ size: 256, usage: USAGE });
    return { buffer, shape: [...x.shape], dtype: "float32" };
  };
  /** A tensor whose buffer the instance has used, and that was destroyed after that. */
  const destroyed = async () => {
    const tensor = given();
    await hw.rotaryEmbedding(tensor);
    await hw
      .scaledDotProductAttention(tensor, tensor, tensor, { location: "gpu" })
      .then(({ output }) => output.dispose());
    tensor.buffer.destroy();
    return tensor;
  };
  const message = /^OptionError: rotaryEmbedding: x\.buffer must be neither destroyed nor mapped/;

  test("rejects data() and download of its result, every time, and names the call", async () => {
    const result = await hw.rotaryEmbedding(await destroyed(), { location: "gpu" });
    for (let read = 0; read < 2; ++read) {
      expect(String(await reasonOf(result.data()))).toMatch(message);
      expect(String(await reasonOf(hw.gpu!.download(result as GpuTensor<"float32">)))).toMatch(message);
    }
    result.dispose();
    await hw.rotaryEmbedding(x); // it was told already
  });

  test("rejects the next call, once", async () => {
    const result = await hw.rotaryEmbedding(await destroyed(), { location: "gpu" });
    expect(String(await reasonOf(hw.scaledDotProductAttention(x, x, x)))).toMatch(message);
    await hw.scaledDotProductAttention(x, x, x);
    result.dispose();
  });

  test("is the error of calls on its result too", async () => {
    const result = await hw.rotaryEmbedding(await destroyed(), { location: "gpu" });
    const second = await hw.scaledDotProductAttention(result, x, x, { location: "gpu" });
    expect(String(await reasonOf(second.output.data()))).toMatch(message);
    expect(String(await reasonOf(second.output.data()))).toMatch(message);
    await hw.rotaryEmbedding(x);
  });

  test("rejects a download of the tensor that the call should have written", async () => {
    const into = given();
    await hw.rotaryEmbedding(x, { into });
    await hw.rotaryEmbedding(await destroyed(), { into });
    expect(String(await reasonOf(hw.gpu!.download(into)))).toMatch(message);
    into.buffer.destroy();
  });

  test("of an append surfaces at the next call, and the cache is as before", async () => {
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8 });
    await cache.append(x, x);
    await cache.append(await destroyed(), x);
    await cache.append(x, x);
    const reason = await reasonOf(cache.attend(x));
    expect(String(reason)).toMatch(/^OptionError: cache\.append: key\.buffer must be neither destroyed nor mapped/);
    expect(OptionError.is(reason)).toBe(true);
    expect(cache.length).toBe(4);
    await cache.append(x, x);
    expect(cache.length).toBe(8);
  });

  test("of a recorded call surfaces where a result is read", async () => {
    const there = await hw.gpu!.upload(x);
    const encoder = device.createCommandEncoder();
    (await hw.scaledDotProductAttention(there, there, there, { encoder })).dispose();
    device.queue.submit([encoder.finish()]);
    const { output } = await hw.scaledDotProductAttention(there, there, there, { encoder });
    expect(String(await reasonOf(output.data()))).toMatch(
      /^OptionError: scaledDotProductAttention: encoder must be a GPUCommandEncoder/,
    );
    output.dispose();
    await hw.scaledDotProductAttention(there, x, x);
  });

  test("1,000 calls, recordings and failures leave the number of live buffers where it was", async () => {
    const watch = new WatchedGpu();
    const there = await hw.gpu!.upload(x);
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8, ring: { window: 16 } });
    const square = randomTensor(4, [16, 16]);
    const weights = { Wq: square, Wk: square, Wv: square, Wo: square };
    const layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights });
    const tokens = await hw.gpu!.upload(randomTensor(5, [1, 4, 16]));
    const bad = given();
    bad.buffer.destroy();
    const round = async () => {
      (await hw.scaledDotProductAttention(there, there, there, { location: "gpu" })).output.dispose();
      await hw.scaledDotProductAttention(x, there, x, { returns: { probs: true } });
      (await cache.step(there, there, there, { location: "gpu" })).output.dispose();
      const encoder = device.createCommandEncoder();
      const recorded = [
        await hw.scaledDotProductAttention(there, there, there, { encoder }),
        await cache.append(there, there, { encoder }),
        await cache.attend(there, { encoder }),
        await layer.forward(tokens, { encoder, cache }),
      ];
      device.queue.submit([encoder.finish()]);
      for (const each of recorded) each.dispose();
      await reasonOf(hw.scaledDotProductAttention(there, bad, there));
      await reasonOf(hw.scaledDotProductAttention(there, there, there, { location: "gpu", emptyRows: "throw" }));
      await reasonOf(hw.rotaryEmbedding(bad, { location: "gpu" }));
      await hw.rotaryEmbedding(x);
      (await layer.forward(tokens, { location: "gpu", cache })).output.dispose();
    };
    for (let n = 0; n < 3; ++n) await round();
    const before = watch.buffers.size;
    for (let n = 0; n < 100; ++n) await round();
    expect(watch.buffers.size).toBe(before);
    watch.restore();
  });
});

describeOnGpu("a result that is disposed while calls wait", () => {
  test("is still read by them, and its buffer is used only afterwards", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    const there = await hw.gpu!.upload(x);
    const [first] = [await hw.scaledDotProductAttention(there, there, there, { location: "gpu" })];
    const expected = await hw.scaledDotProductAttention(first.output, x, x);
    const running = hw.scaledDotProductAttention(x, x, x, { bias: randomTensor(2, [4, 4]) });
    const waiting = hw.scaledDotProductAttention(first.output, x, x);
    first.output.dispose();
    const later = hw.scaledDotProductAttention(x, x, there, { location: "gpu" });
    await running;
    expect(float32Of((await waiting).output)).toEqual(float32Of(expected.output));
    expect((await later).output.buffer).toBe(first.output.buffer);
    hw.dispose();
  });

  test("while data() runs, data() still gives its numbers", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    const there = await hw.gpu!.upload(x);
    const reading = there.data();
    there.dispose();
    const other = await hw.gpu!.upload(randomTensor(3, x.shape));
    expect(await reading).toEqual(x.data);
    other.dispose();
    hw.dispose();
  });
});
