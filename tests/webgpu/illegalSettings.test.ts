import { afterAll, beforeAll } from "@jest/globals";
import type { Attention } from "headwise";

import { illegalOptionTests } from "../web/illegalOptions.js";
import { illegalSettingTests } from "../web/illegalSettings.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

describeOnGpu("on WebGPU", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createOnSharedDevice();
  });
  afterAll(() => hw.dispose());

  illegalSettingTests(() => hw);
  illegalOptionTests(() => hw);
});
