import { createAttention } from "headwise/inline";

import { FIRST_ROWS, firstRows } from "./causal.js";

test("headwise/inline computes", async () => {
  expect(await firstRows(await createAttention())).toEqual(FIRST_ROWS);
});
