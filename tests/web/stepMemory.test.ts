// The memory of a recorded step: arrays that are never needed at the same time share it, and no number is lost by that.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { expectGraph } from "./stepGraphs.js";

describe("the memory of a step", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", threads: 2 });
  });
  afterAll(() => hw.dispose());

  test.each(Array.from({ length: 40 }, (_, n) => n + 1))(
    "no number is overwritten before it was read, whatever follows from what: %i",
    (seed) => expectGraph(hw, seed),
  );

  test("a long chain holds no more arrays than a short one", async () => {
    const length = 10_000;
    const chain = async (links: number) => {
      const step = await hw.record((recorder) => {
        let y = recorder.input("x", [length]);
        for (let n = 0; n < links; n++) y = recorder.scale(y, 2);
        return { y };
      });
      const { y } = await step.run({ x: { data: new Float32Array(length).fill(3), shape: [length] } });
      expect(y.data).toEqual(new Float32Array(length).fill(3 * 2 ** links));
      const { bytes } = step;
      step.dispose();
      return bytes;
    };
    expect((await chain(100)) - (await chain(10))).toBeLessThan(length * Float32Array.BYTES_PER_ELEMENT);
  });
});
