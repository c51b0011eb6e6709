import type { Attention } from "headwise";

import { ownAnglesTests } from "../web/ownAngles.js";
import { describeOnGpu, onSharedDevice } from "./gpu.js";

describeOnGpu("own angles on WebGPU", () => {
  let hw: Attention;
  onSharedDevice((_, instance) => {
    hw = instance;
  });
  ownAnglesTests(() => hw);
});
