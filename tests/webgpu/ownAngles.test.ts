import type { Attention } from "headwise";

import { ownAnglesTests } from "../web/ownAngles.js";
import { describeOnGpu, onPlainDevice } from "./gpu.js";

describeOnGpu("own angles on WebGPU", () => {
  let hw: Attention;
  onPlainDevice((_, instance) => {
    hw = instance;
  });
  ownAnglesTests(() => hw);
});
