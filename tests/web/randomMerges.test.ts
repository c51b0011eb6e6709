import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createAttention, type Attention } from "headwise";

import { word } from "./cases.js";
import { differences, valuesOf } from "./close.js";
import { runsOf } from "./depth.js";
import { variants } from "./engines.js";
import { calls, withAnchor, type Call } from "./randomCalls.js";
import {
  referenceAttention,
  type Expected,
  type Input,
  type ReferenceResult,
} from "../attention-conformance/reference/reference.js";

const RUNS = runsOf(150);
const EPSILON = 2 ** -24;
const { abs } = Math;

describe.each(variants)("variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  test("results over any split of the keys unite into the result over all of them, sinks added once", async () => {
    await fc.assert(
      fc.asyncProperty(calls, fc.integer({ min: 1, max: 4 }), fc.nat(), async (call, numParts, seed) => {
        const { query, key, value } = call;
        const { sinks, ...options } = mergeable(call.options);
        const reference = referenceAttention(query, key, value, sinks ? { ...options, sinks } : options);
        const parts = [];
        let lseError = 0;
        for (let part = 0; part < numParts; ++part) {
          const { Skv } = reference.shape;
          const data = Uint8Array.from({ length: Skv }, (_, j) => Number(word(seed, 9, j) % numParts === part));
          const partOptions = { ...options, mask: { data, shape: [Skv] } };
          parts.push(await hw.scaledDotProductAttention(query, key, value, { ...partOptions, returns: { lse: true } }));
          lseError = Math.max(lseError, ...referenceAttention(query, key, value, partOptions).lse.tolerance);
        }
        const { layout } = call.options;
        const { output, lse } = await hw.mergeAttention(parts, { ...(layout && { layout }), ...(sinks && { sinks }) });
        expect(differences(output, mergedOutput(call, options, reference, lseError))).toEqual([]);
        expect(
          differences(
            lse,
            widened(reference.lse, (x) => lseError + 4 * EPSILON * (1 + abs(x))),
          ),
        ).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});

/** The options without those that the parts set differently, and those that mergeAttention cannot know. */
function mergeable(options: Call["options"]): Call["options"] {
  const left = ["mask", "returns", "emptyRows", "queryLengths"];
  return withAnchor(Object.fromEntries(Object.entries(options).filter(([name]) => !left.includes(name))));
}

/**
 * The weight of a part is exp(lse_p − lse), so its error is the error of lse. Merging adds 4 ulp. Both are relative to
 * Σ p|v|, which is the output of the reference for |v|. float16 parts were rounded before they were merged.
 */
function mergedOutput(
  { query, key, value }: Call,
  options: Call["options"],
  { output }: ReferenceResult,
  lseError: number,
): Expected {
  const magnitudes: Input = { data: Float64Array.from(valuesOf(value), abs), shape: value.shape };
  const total = referenceAttention(query, key, magnitudes, options).output.values.map(abs);
  const isHalf = valuesOf(query) !== query.data;
  return widened(output, (_, k) => (2 * lseError + 8 * EPSILON + (isHalf ? 2 ** -10 : 0)) * total[k]!);
}

function widened({ values, tolerance }: Expected, by: (value: number, k: number) => number): Expected {
  return { values, tolerance: tolerance.map((bound, k) => bound + by(values[k]!, k)) };
}
