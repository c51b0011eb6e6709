import type { Attention } from "headwise";

import { alibiPositionsTests } from "../web/alibiPositions.js";
import { ownPositionsTests } from "../web/ownPositions.js";
import { describeOnGpu, onSharedDevice } from "./gpu.js";

describeOnGpu("own positions on WebGPU", () => {
  let hw: Attention;
  onSharedDevice((_, instance) => {
    hw = instance;
  });
  ownPositionsTests(() => hw);
  alibiPositionsTests(() => hw);
});
