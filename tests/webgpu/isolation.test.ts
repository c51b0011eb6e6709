import { isolationTests } from "../web/isolation.js";
import { insideIsolationTests } from "../web/isolationInside.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

describeOnGpu("isolation on WebGPU", () => {
  const create = createOnSharedDevice;
  isolationTests(create, 15);
  insideIsolationTests(create, 3);
});
