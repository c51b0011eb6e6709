import { expect, test } from "@jest/globals";
import { createAttention } from "headwise";

import { report } from "./compute.js";

test("headwise computes inside Jest", async () => {
  report(createAttention({ threads: 2 }));
  const { threads, rows } = await globalThis.outcome;
  expect(threads).toBe(2);
  expect(rows.slice(0, 2)).toEqual([1, 0]);
});
