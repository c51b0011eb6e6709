// The block of the matrix product: races between the first calls choose it, and `report` names it.

import { afterAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInWorker } from "headwise/worker";

const BLOCKS = ["2x4", "6x2", "4x4", "6x4"];
const SHAPE = [1, 2, 70, 40];
const LONG_ENOUGH_FOR_ALL_RACES = 600; // milliseconds

function tensor(seed: number) {
  const count = SHAPE.reduce((a, b) => a * b);
  return { data: Float32Array.from({ length: count }, (_, i) => Math.sin(seed + 1.7 * i)), shape: SHAPE };
}

describe.each([
  ["headwise", createAttention],
  ["headwise/worker", createInWorker],
])("of %s", (_, create) => {
  const made: Attention[] = [];
  afterAll(() => {
    for (const hw of made) hw.dispose();
  });

  test("is named by the report from the start", async () => {
    const hw = await create({ backend: "wasm", threads: 1 });
    made.push(hw);
    expect(hw.report.productBlock).toBe("2x4");
  });

  test("changes no bit of a result, whichever wins", async () => {
    const hw = await create({ backend: "wasm", threads: 1 });
    made.push(hw);
    const [query, key, value] = [tensor(1), tensor(2), tensor(3)];
    const first = await hw.scaledDotProductAttention(query, key, value);
    const end = performance.now() + LONG_ENOUGH_FOR_ALL_RACES;
    while (performance.now() < end) {
      const { output } = await hw.scaledDotProductAttention(query, key, value);
      expect(BLOCKS).toContain(hw.report.productBlock);
      expect(output.data).toEqual(first.output.data);
    }
  }, 60_000);
});
