// What a recorded step asks of its device, and the end of that device.

import { expect, test } from "@jest/globals";
import { createAttention } from "headwise";

import { Decoder, TOKENS } from "../web/stepDecoder.js";
import { CountedGpu } from "./countedGpu.js";
import { createOnSharedDevice, describeOnGpu, openTestDevice } from "./gpu.js";

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
});
