import { createAttention } from "headwise";

import { FIRST_ROWS, firstRows } from "./causal.js";

test("headwise computes, mapped to headwise/inline", async () => {
  expect(await firstRows(await createAttention({ threads: 2 }))).toEqual(FIRST_ROWS);
});
