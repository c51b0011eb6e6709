import { createAttention } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";
import { expect, test } from "vitest";

import { FIRST_ROWS, firstRows } from "./causal.js";

test.each([createAttention, createInWorker])("computes on two threads", async (create) => {
  const hw = await create({ threads: 2 });
  expect(hw.report.threads).toBe(2);
  expect(await firstRows(hw)).toEqual(FIRST_ROWS);
});

test("headwise/inline computes", async () => {
  expect(await firstRows(await createInline())).toEqual(FIRST_ROWS);
});
