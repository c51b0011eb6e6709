// What attention over a cache shows and overwrites of its inside, on every variant of wasm and in a worker.

import { afterAll, beforeAll, describe } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInWorker } from "headwise/worker";

import { attendInsideTests } from "./attendInsideTests.js";
import { variants } from "./engines.js";

const ENTRIES: readonly [string, () => Promise<Attention>][] = [
  ...variants.map((variant) => [variant, () => createAttention({ variant, threads: 2 })] as const),
  ["a worker", () => createInWorker({ threads: 1 })],
] as never;

describe.each(ENTRIES)("the inside of attention over a cache (%s)", (_, create) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
  });
  afterAll(() => hw.dispose());

  attendInsideTests(() => hw);
});
