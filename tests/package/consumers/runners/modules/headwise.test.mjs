import { expect, test } from "@jest/globals";
import { createAttention } from "headwise";

import { FIRST_ROWS, firstRows } from "./causal.js";

test("headwise computes on two threads", async () => {
  const hw = await createAttention({ threads: 2 });
  expect(hw.report.threads).toBe(2);
  expect(await firstRows(hw)).toEqual(FIRST_ROWS);
});
