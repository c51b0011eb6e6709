// What a recorded step asks of its device, and the end of that device.

import { expect, test } from "@jest/globals";
import { createAttention } from "headwise";

import { randomTensor } from "../web/randomTensor.js";
import { Decoder, TOKENS } from "../web/stepDecoder.js";
import { CountedGpu } from "./countedGpu.js";
import { WatchedGpu } from "./faultyGpu.js";
import { createOnSharedDevice, describeOnGpu, gpu, openTestDevice } from "./gpu.js";

describeOnGpu("A step on WebGPU", () => {
  test("is one submit, which makes no buffers and no pipelines once it has run", async () => {
    const hw = await createOnSharedDevice();
    const decoder = await Decoder.create(hw, {}, "webgpu");
    const step = await hw.record((recorder) => decoder.record(recorder));
    for (const token of TOKENS) await step.run({ token: [token] });
    const counted = new CountedGpu();
    const counts = await counted.count(() => step.run({ token: [1] }));
    counted.restore();
    hw.dispose();
    expect(counts).toMatchObject({ submit: 1, createComputePipelineAsync: 0, waits: 1 });
    expect(counts.createBuffer).toBeLessThanOrEqual(1); // what is read back
  });

  test("is lost with its device, and says so", async () => {
    const device = await openTestDevice();
    const own = await createAttention({ backend: "webgpu", device });
    const step = await own.record((recorder) => ({ y: recorder.scale(recorder.input("x", [4]), 2) }));
    expect(Array.from((await step.run({ x: [1, 2, 3, 4] })).y.data)).toEqual([2, 4, 6, 8]);
    device.destroy();
    await device.lost;
    await expect(step.run({ x: [1, 2, 3, 4] })).rejects.toMatchObject({ code: "DEVICE_LOST" });
    step.dispose();
    own.dispose();
  });

  test("leaves no buffer when it is disposed, but for scratch that the next one uses again", async () => {
    const watch = new WatchedGpu();
    const own = await createAttention({ backend: "webgpu", gpu: gpu! });
    const left: number[] = [];
    for (let n = 0; n < 3; ++n) {
      const step = await own.record((recorder) => {
        const x = recorder.rmsNorm(recorder.input("x", [2, 8]), randomTensor(1, [8]));
        return { y: recorder.linear(x, randomTensor(2, [8, 3]), randomTensor(3, [3])) };
      });
      await step.run({ x: randomTensor(4, [2, 8]) });
      const during = watch.buffers.size;
      step.dispose();
      await new Promise((done) => setImmediate(done)); // memory is given back after the calls made before
      expect(watch.buffers.size).toBeLessThan(during);
      left.push(watch.buffers.size);
    }
    expect(left[2]).toBe(left[1]);
    own.dispose();
    expect(watch.buffers.size).toBe(0);
    watch.restore();
  });

  test("computes with wasm where there is both, and takes no weight from the GPU there", async () => {
    const both = await createAttention({ backend: "auto", gpu: gpu!, calibrate: false });
    const weight = randomTensor(5, [4, 2]);
    const uploaded = await both.gpu!.uploadWeight(weight);
    const record = (given: typeof weight | typeof uploaded) =>
      both.record((recorder) => ({ y: recorder.linear(recorder.input("x", [1, 4]), given) }));
    await expect(record(uploaded)).rejects.toThrow("record: a weight of a step must not be on the GPU");
    const { y } = await (await record(weight)).run({ x: [[1, 1, 1, 1]] });
    const { data } = weight;
    const sums = [0, 1].map((n) => data[n]! + data[n + 2]! + data[n + 4]! + data[n + 6]!);
    sums.forEach((sum, n) => expect(y.data[n]).toBeCloseTo(sum, 5));
    both.dispose();
  });
});
