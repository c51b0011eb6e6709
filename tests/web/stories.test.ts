import { describe, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInWorker } from "headwise/worker";

import { expectStory, hasStories, storiesTitle } from "./storiesCheckpoint.js";

(hasStories ? describe : describe.skip)(storiesTitle, () => {
  describe.each<[string, () => Promise<Attention>]>([
    ["one thread", () => createAttention({ backend: "wasm", threads: 1 })],
    ["two threads", () => createAttention({ backend: "wasm", threads: 2 })],
    ["a worker", () => createInWorker({ threads: 1 })],
  ])("in %s", (_, create) => {
    test.each(["float32", "float16"] as const)("with weights of %s writes its published text", async (precision) => {
      const hw = await create();
      await expectStory(hw, precision);
      hw.dispose();
    });
  });
});
