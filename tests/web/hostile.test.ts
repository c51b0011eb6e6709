import { afterAll, beforeAll, describe } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { hostileFunctionTests, hostileTests } from "./hostile.js";

describe.each([1, 2])("hostile arguments to headwise, threads: %d", (threads) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant: "simd", threads });
  });
  afterAll(() => hw.dispose());

  hostileTests(() => hw, 300);
});

describe("hostile arguments to functions", () => {
  hostileFunctionTests(500);
});
