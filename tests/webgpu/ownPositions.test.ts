import type { Attention } from "headwise";

import { ownPositionsTests } from "../web/ownPositions.js";
import { describeOnGpu, onOwnDevice } from "./gpu.js";

describeOnGpu("own positions on WebGPU", () => {
  let hw: Attention;
  onOwnDevice((_, instance) => {
    hw = instance;
  });
  ownPositionsTests(() => hw);
});
