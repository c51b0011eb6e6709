import { afterAll, beforeAll, describe } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";

import { hostileFunctionTests, hostileTests } from "./hostile.js";

describe.each([
  ["headwise", () => createAttention({ backend: "wasm", variant: "simd", threads: 1 })],
  ["headwise with two threads", () => createAttention({ backend: "wasm", variant: "simd", threads: 2 })],
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

describe("hostile arguments to functions", () => {
  hostileFunctionTests(500);
});
