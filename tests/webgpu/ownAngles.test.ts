import type { Attention } from "headwise";

import { ownAnglesTests } from "../web/ownAngles.js";
import { describeOnGpu, onOwnDevice } from "./gpu.js";

describeOnGpu("own angles on WebGPU", () => {
  let hw: Attention;
  onOwnDevice((_, instance) => {
    hw = instance;
  });
  ownAnglesTests(() => hw);
});
