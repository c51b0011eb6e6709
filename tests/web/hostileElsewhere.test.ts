import { afterAll, beforeAll, describe } from "@jest/globals";
import type { Attention } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";

import { hostileTests } from "./hostile.js";

describe.each([
  ["headwise/worker", () => createInWorker({ backend: "wasm", variant: "simd", threads: 1 })],
  ["headwise/inline", () => createInline()],
])("hostile arguments to %s", (_, create) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
  });
  afterAll(() => hw.dispose());

  hostileTests(() => hw, 300);
});
