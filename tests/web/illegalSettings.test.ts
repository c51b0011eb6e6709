import { afterAll, beforeAll, describe } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInWorker } from "headwise/worker";

import { illegalOptionTests } from "./illegalOptions.js";
import { illegalSettingTests } from "./illegalSettings.js";

describe.each([
  ["this thread", () => createAttention({ backend: "wasm", threads: 1 })],
  ["a worker", () => createInWorker({ backend: "wasm", threads: 1 })],
])("in %s", (_, open) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await open();
  });
  afterAll(() => hw.dispose());

  illegalSettingTests(() => hw);
  illegalOptionTests(() => hw);
});
