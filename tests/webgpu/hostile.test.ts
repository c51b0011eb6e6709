import { afterAll, beforeAll } from "@jest/globals";
import type { Attention } from "headwise";

import { hostileTests } from "../web/hostile.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

describeOnGpu("hostile arguments to WebGPU", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createOnSharedDevice();
  });
  afterAll(() => hw.dispose());

  hostileTests(() => hw, 100); // a call on a software adapter takes a hundred times as long as on wasm
});
