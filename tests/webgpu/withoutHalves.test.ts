// A device may say that it has shader-f16 and still compile no kernel with it. Here Dawn refuses such kernels, because the
// device was opened without the feature.

import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createAttention, toFloat16, type Attention, type Tensor } from "headwise";

import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { randomTensor } from "../web/randomTensor.js";
import { resultProblems } from "../web/resultProblems.js";
import { describeOnGpu, openTestDevice } from "./gpu.js";

const halves = (seed: number, shape: number[]): Tensor<"float16"> => ({
  data: toFloat16(randomTensor(seed, shape).data),
  shape,
  dtype: "float16",
});

describeOnGpu("a device whose kernels with float16 do not compile", () => {
  let device: GPUDevice;
  let hw: Attention;
  beforeEach(async () => {
    device = await openTestDevice();
    Object.defineProperty(device, "features", { value: new Set(["shader-f16"]) });
    hw = await createAttention({ backend: "webgpu", device });
    expect(hw.report.adapter!.features).toEqual(["shader-f16"]);
  });
  afterEach(() => {
    hw.dispose();
    device.destroy();
  });

  const query = randomTensor(1, [1, 2, 20, 8]);
  const [key, value] = [halves(2, [1, 1, 40, 8]), halves(3, [1, 1, 40, 8])];
  const isRight = (output: Tensor) =>
    expect(resultProblems({ output } as never, {}, referenceAttention(query, key, value, {}))).toEqual({});

  test("computes without float16 arithmetic", async () => {
    isRight((await hw.scaledDotProductAttention(query, key, value)).output);
  });

  test("records a call without it", async () => {
    const encoder = device.createCommandEncoder();
    const { output } = await hw.scaledDotProductAttention(query, key, value, { encoder });
    device.queue.submit([encoder.finish()]);
    isRight({ data: await output.data(), shape: [...output.shape] });
  });

  test("compiles without it in a warmup", async () => {
    const shape = { numHeads: 2, numKvHeads: 1, queryLength: 20, keyLength: 40, headDim: 8, dtype: "float16" } as const;
    await hw.warmup(shape, { compute: false });
    await hw.scaledDotProductAttention(halves(1, [1, 2, 20, 8]), key, value);
  });
});
