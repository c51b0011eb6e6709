import { APPEND_NAMES, appendProblem } from "../cache/appendProblem.js";
import { ATTEND_NAMES, attendRequest } from "../cache/attendProblem.js";
import type { CacheProblem } from "../cache/cacheProblem.js";
import { CallArguments } from "../call/callArguments.js";
import { readOptions } from "../call/options.js";
import { CHECK } from "./attentionKind.js";
import { featureNames, sampleOptions, type Features } from "./features.js";
import type { Kind } from "./kind.js";
import { Numbers } from "./numbers.js";
import { floatsOf, type Floats } from "./samples.js";
import { toleranceOf } from "./tolerance.js";

/** Tokens in the cache of a small call. A GPU computes so many keys in parts. */
const TOKENS = 601;

/** Queries of the two small calls: a step of decoding, and some more rows. */
const QUERIES = [1, 19];

/** What an int8 number may differ by if two engines round a quotient differently: one step of 127. */
const INT8_STEP = 1 / 64;

/** What a cache of this form does, by options of attend. */
export function cacheKind(
  problem: CacheProblem,
  call: { readonly numHeads: number; readonly dtype: Floats; readonly features: Features },
): Kind {
  const { headDim, valueDim, dtype, ring } = problem;
  const group = Math.min(call.numHeads / problem.numKvHeads, 8);
  const words = [
    `${headDim}×${valueDim}`,
    dtype,
    ...(call.dtype === "float32" ? [] : [`query ${call.dtype}`]),
    `group ${group}`,
    ...(ring ? ["ring"] : []),
    ...(problem.rotary ? ["rotary"] : []),
    ...featureNames(call.features),
  ];
  const halves = dtype === "float16" || call.dtype === "float16";
  return {
    name: `cache ${words.join(", ")}`,
    tolerance: toleranceOf(headDim, halves) + (dtype === "int8" ? 2 * INT8_STEP : 0),
    async sample(engine) {
      const read = new CallArguments(CHECK);
      const numbers = new Numbers(headDim + 31 * valueDim);
      const form = {
        ...problem,
        operation: CHECK,
        batchSize: 1,
        numKvHeads: 1,
        capacity: undefined,
        ring: ring && { keepFirst: Math.min(ring.keepFirst, 2), window: 300 },
      };
      const cache = await engine.createCache(form);
      try {
        const rows = (heads: number, length: number, width: number) =>
          floatsOf(numbers, call.dtype, [1, heads, length, width]);
        const [key, value] = [rows(1, TOKENS, headDim), rows(1, TOKENS, valueDim)];
        await cache.append(appendProblem(read, cache.form, key, value, readOptions(read, {}, APPEND_NAMES)));
        const keys = ring ? Math.min(TOKENS, form.ring!.keepFirst + form.ring!.window) : TOKENS;
        const results = [];
        for (const queries of QUERIES) {
          const extents = { batchSize: 1, numHeads: group, queries, keys };
          const options = readOptions(read, sampleOptions(call.features, numbers, extents), ATTEND_NAMES);
          const request = attendRequest(read, cache.form, rows(group, queries, headDim), options);
          results.push(await cache.attend(request.at([TOKENS])));
        }
        return results;
      } finally {
        cache.release();
      }
    },
  };
}
