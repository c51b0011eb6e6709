import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Attention } from "headwise";

import { Encoder } from "../../web/demo/model/encoder.js";
import { PARK, PHONE } from "../../web/demo/model/story.js";
import { modelFiles, original } from "../lab/demoModel.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

describeOnGpu("the demo's model on WebGPU", () => {
  let hw: Attention;
  let encoder: Encoder;
  beforeAll(async () => {
    hw = await createOnSharedDevice();
    encoder = await Encoder.load(hw, modelFiles);
  });
  afterAll(() => {
    encoder.dispose();
    hw.dispose();
  });

  test.each([PARK, PHONE, "hello", "日本語のテキスト", "word ".repeat(129).trim()])(
    "embeds %j as its makers' graph does, to 1e-4",
    async (text) => {
      const [expected] = await original.embed([text]);
      const { embedding } = await encoder.encode(text);
      expect(Math.max(...embedding.map((value, i) => Math.abs(value - expected![i]!)))).toBeLessThanOrEqual(1e-4);
    },
  );
});
