import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createAttention, EmptyRowError, HeadwiseError, type Attention } from "headwise";

import { bits } from "./close.js";
import { runsOf } from "./depth.js";
import { variants } from "./engines.js";
import { breakages } from "./illegalCalls.js";
import { calls, type Call } from "./randomCalls.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "./resultProblems.js";

const RUNS = runsOf(150);

describe.each(variants)("variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  test("random legal calls agree with the double reference", async () => {
    await fc.assert(
      fc.asyncProperty(calls, async (call) => {
        const reference = referenceOf(call);
        const result = hw.scaledDotProductAttention(call.query, call.key, call.value, call.options);
        if (!reference) {
          const error: unknown = await result.then(
            () => undefined,
            (reason: unknown) => reason,
          );
          expect(EmptyRowError.is(error)).toBe(true);
        } else expect(resultProblems(await result, call.options.returns, reference)).toEqual({});
      }),
      { numRuns: RUNS },
    );
  });

  test("random illegal calls are refused by name, and a known call gives the same bits afterwards", async () => {
    const known = fc.sample(calls, { numRuns: 1, seed: 8 })[0]!;
    const knownCall = () => hw.scaledDotProductAttention(known.query, known.key, known.value, known.options);
    const before = bits(await knownCall());
    await fc.assert(
      fc.asyncProperty(calls, fc.constantFrom(...breakages), async (call, { breakCall, error, names }) => {
        const broken = breakCall(call);
        fc.pre(broken !== undefined);
        const { query, key, value, options } = broken;
        const reason = await reasonOf(hw.scaledDotProductAttention(query, key, value, options));
        expect(reason.name).toBe(error);
        expect(reason.message).toMatch(/^scaledDotProductAttention: /);
        expect(reason.message).toMatch(names);
        expect(bits(await knownCall())).toEqual(before);
      }),
      { numRuns: RUNS },
    );
  });

  test("the gradients of random illegal calls are refused by name, and the legal call is differentiated", async () => {
    const shared = breakages.filter(({ what }) => !/^returns /.test(what)); // the forward's own options
    await fc.assert(
      fc.asyncProperty(calls, fc.constantFrom(...shared), async (call, { breakCall, error, names }) => {
        const legal = sharedOptions(call);
        const { query, key, value } = call;
        const broken = breakCall({ ...call, options: legal });
        if (!broken || !referenceOf(call)) return;
        const forward = await hw.scaledDotProductAttention(query, key, value, { ...legal, returns: { lse: true } });
        const { output, lse } = forward;
        const results = { output, lse, dOutput: output };
        const { options, ...tensors } = broken;
        const reason = await reasonOf(hw.attentionBackward({ ...options, ...tensors, ...results } as never));
        expect(reason.name).toBe(error);
        expect(reason.message).toMatch(/^attentionBackward: /);
        expect(reason.message).toMatch(names);
        const { dQuery } = await hw.attentionBackward({ ...legal, query, key, value, ...results });
        expect(dQuery.shape).toEqual(query.shape);
      }),
      { numRuns: RUNS },
    );
  });
});

/** The options that a call and its gradient have in common. */
function sharedOptions({ options }: Call): Omit<Call["options"], "returns"> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name !== "returns"));
}

async function reasonOf(call: Promise<unknown>): Promise<HeadwiseError> {
  const reason: unknown = await call.then(
    () => "it was computed",
    (thrown: unknown) => thrown,
  );
  if (!HeadwiseError.is(reason)) throw new Error(`expected a HeadwiseError, got ${String(reason)}`);
  return reason;
}

/** The result of the reference; undefined if a row sees no key and emptyRows is "throw". */
function referenceOf({ query, key, value, options }: Call) {
  try {
    return referenceAttention(query, key, value, options);
  } catch {
    return undefined;
  }
}
