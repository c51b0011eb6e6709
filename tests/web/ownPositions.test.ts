import { afterAll, beforeAll, describe } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";

import { ownPositionsTests } from "./ownPositions.js";

const ENTRIES: readonly [string, () => Promise<Attention>][] = [
  ["one thread", () => createAttention({ threads: 1 })],
  ["two threads", () => createAttention({ threads: 2 })],
  ["inline", () => createInline()],
  ["a worker", () => createInWorker({ threads: 1 })],
] as never;

describe.each(ENTRIES)("own positions (%s)", (_, create) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
  });
  afterAll(() => hw.dispose());
  ownPositionsTests(() => hw);
});
