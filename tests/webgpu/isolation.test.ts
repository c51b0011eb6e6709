import { isolationTests } from "../web/isolation.js";
import { insideIsolationTests } from "../web/isolationInside.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

describeOnGpu("isolation on WebGPU", () => {
  const create = createOnSharedDevice;
  const seed = Math.floor(Math.random() * 2 ** 31);
  isolationTests(create, 15, { seed });
  insideIsolationTests(create, 3, { seed });
});
