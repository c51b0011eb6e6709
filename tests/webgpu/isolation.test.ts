import { createAttention } from "headwise";

import { isolationTests } from "../web/isolation.js";
import { insideIsolationTests } from "../web/isolationInside.js";
import { describeOnGpu, gpu } from "./gpu.js";

describeOnGpu("isolation on WebGPU", () => {
  const create = () => createAttention({ backend: "webgpu", gpu: gpu! });
  isolationTests(create, 15);
  insideIsolationTests(create, 3);
});
