import { afterAll, beforeAll, describe, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { expectCachesToBeLists } from "./cacheSteps.js";
import { runsOf } from "./depth.js";
import { variants } from "./engines.js";

const RUNS = Math.ceil(runsOf(150) / 3);

describe.each(variants)("variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  test("caches do what lists of tokens would do, whatever the order of append, attend, rewind, select, keep, fork, slice and save", () =>
    expectCachesToBeLists(hw, RUNS));
});
