import { afterAll, beforeAll, describe, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { createAttention as createInWorker } from "headwise/worker";

import { cacheUses } from "./cacheUse.js";

describe.each<[entry: string, create: () => Promise<Attention>]>([
  ["headwise", () => createAttention({ threads: 2 })],
  ["headwise/inline", () => createInline()],
  ["headwise/worker", () => createInWorker({ threads: 1 })],
])("A cache of %s:", (_entry, create) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await create();
  });
  afterAll(() => hw.dispose());

  test.each(Object.entries(cacheUses))("%s", (_what, use) => use(hw));
});
