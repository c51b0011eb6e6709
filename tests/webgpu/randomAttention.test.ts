import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { EmptyRowError, type Attention } from "headwise";

import { calls, type Call } from "../web/randomCalls.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "../web/resultProblems.js";
import { countOf } from "../web/depth.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

const RUNS = Number(process.env["HEADWISE_RANDOM_RUNS"] ?? countOf(6, 60));

describeOnGpu("WebGPU", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createOnSharedDevice();
  });
  afterAll(() => hw.dispose());

  test(`${RUNS} random legal calls agree with the double reference (60: npm test -- --deep)`, async () => {
    await fc.assert(
      fc.asyncProperty(calls, async (call) => {
        const reference = referenceOf(call);
        const result = hw.scaledDotProductAttention(call.query, call.key, call.value, call.options);
        if (!reference) expect(EmptyRowError.is(await result.catch((reason: unknown) => reason))).toBe(true);
        else expect(resultProblems(await result, call.options.returns, reference)).toEqual({});
      }),
      { numRuns: RUNS },
    );
  });
});

/** The reference's result, or undefined if a row sees no key and `emptyRows` is "throw". */
function referenceOf({ query, key, value, options }: Call) {
  try {
    return referenceAttention(query, key, value, options);
  } catch {
    return undefined;
  }
}
