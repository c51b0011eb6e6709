import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention, type AttentionResult } from "headwise";

import { attentionCases, word, type AttentionCase } from "./cases.js";
import { bits, differences } from "./close.js";
import { variants } from "./engines.js";
import { referenceAttention, select, type Expected, type ReferenceResult } from "./reference.js";
import { topKProblems } from "./topK.js";

const cases = attentionCases();
const references = new Map<string, ReferenceResult>();

/** The double reference of a case, computed once for all engines. */
function referenceOf({ name, query, key, value, options }: AttentionCase): ReferenceResult {
  let reference = references.get(name);
  if (!reference) references.set(name, (reference = referenceAttention(query, key, value, options)));
  return reference;
}

test("the case table's numbers are those that its README names", () => {
  const words = [word(1, 1, 0), word(1, 1, 1), word(1, 2, 0), word(4000000000, 3, 1000000)];
  expect(words.map((x) => x.toString(16))).toEqual(["c5f64a98", "c965c8b3", "5c5f30ab", "63092206"]);
});

describe.each(variants)("variant %s", (variant) => {
  let one: Attention;
  let two: Attention;

  beforeAll(async () => {
    one = await createAttention({ backend: "wasm", variant, threads: 1 });
    two = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => {
    one.dispose();
    two.dispose();
  });

  test("each instance says what it runs", () => {
    expect([one.report.variant, one.report.threads]).toEqual([variant, 1]);
    expect([two.report.variant, two.report.threads]).toEqual([variant, 2]);
  });

  test.each(cases)("$name is within the error model, with the same bits on 1 and 2 threads", async (example) => {
    const { query, key, value, options } = example;
    const result = await one.scaledDotProductAttention(query, key, value, options);
    expect(problems(result, options.returns ?? {}, referenceOf(example))).toEqual({});
    expect(bits(await two.scaledDotProductAttention(query, key, value, options))).toEqual(bits(result));
  });
});

type Returns = NonNullable<AttentionCase["options"]["returns"]>;

/** For each output that was asked for, where it leaves its bounds; empty if nowhere. */
function problems(result: AttentionResult, returns: Returns, reference: ReferenceResult): Record<string, string[]> {
  const dense = (choice: true | object | undefined) => (typeof choice === "object" ? choice : {});
  const found: Record<string, string[]> = {};
  const check = (name: string, lines: string[]) => {
    if (lines.length > 0) found[name] = lines;
  };
  if (returns.output !== false) check("output", differences(result.output, reference.output));
  if (returns.lse) check("lse", differences(result.lse, reference.lse));
  if (returns.entropy) check("entropy", differences(result.entropy, reference.entropy));
  if (returns.probs)
    check("probs", differences(result.probs, select(reference.probs, reference.shape, dense(returns.probs))));
  if (returns.scores) {
    const choice = typeof returns.scores === "string" ? { stage: returns.scores } : returns.scores;
    check("scores", differences(result.scores, select(reference[choice.stage], reference.shape, choice)));
  }
  if (returns.topK) {
    const choice = typeof returns.topK === "number" ? { k: returns.topK } : returns.topK;
    const { probs, shape } = reference;
    const eligible = select(eligibleKeys(reference), shape, choice).values;
    check("topK", topKProblems(result.topK, choice.k, shape.Skv, select(probs, shape, choice), eligible));
  }
  return found;
}

/** Keys that a list of the largest may name: the visible ones, and all that the uniform policy shares a row among. */
function eligibleKeys({ biased, probs }: ReferenceResult): Expected {
  const values = biased.values.map((s, k) => Number(s !== -Infinity || probs.values[k]! > 0));
  return { values, tolerance: new Float64Array(values.length) };
}
