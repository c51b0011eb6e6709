import { afterAll, beforeAll, describe } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";

import { alibiPositionsTests } from "./alibiPositions.js";
import { ownAnglesTests } from "./ownAngles.js";
import { ownPositionsTests } from "./ownPositions.js";

const ENTRIES: readonly (readonly [entry: string, create: () => Promise<Attention>])[] = [
  ["one thread", () => createAttention({ threads: 1 })],
  ["two threads", () => createAttention({ threads: 2 })],
  ["inline", () => createInline()],
  ["a worker", () => createInWorker({ threads: 1 })],
];

describe.each(ENTRIES)("%s", (_, create) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
  });
  afterAll(() => hw.dispose());
  describe("own angles", () => ownAnglesTests(() => hw));
  describe("own positions", () => ownPositionsTests(() => hw));
  describe("positions of ALiBi", () => alibiPositionsTests(() => hw));
});
