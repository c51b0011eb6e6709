import { APPEND, appendProblem } from "../cache/appendProblem.js";
import { ATTEND_NAMES, attendRequest } from "../cache/attendProblem.js";
import type { CacheProblem } from "../cache/cacheProblem.js";
import { formWhileGaining, longest, tokensAfter } from "../cache/heldTokens.js";
import { CallArguments } from "../read/callArguments.js";
import { readOptions } from "../read/options.js";
import { namesIn } from "../read/settingTable.js";
import { CHECK } from "./attentionKind.js";
import { featureNames, sampleOptions, type Features } from "./features.js";
import type { Kind } from "./kind.js";
import { Numbers } from "./numbers.js";
import { floatsOf, type Floats } from "./samples.js";
import { toleranceOf } from "./tolerance.js";

/** Tokens in the cache of a small call. A GPU computes so many keys in parts. */
const TOKENS = 601;

/** Tokens of the two small steps: one of decoding, and some more. */
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
    ...(ring ? [ring.positions === "cache" ? "ring with its own positions" : "ring"] : []),
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
        // Queries that count from the first token must not see tokens that a ring has dropped.
        ring: ring && {
          ...ring,
          keepFirst: Math.min(ring.keepFirst, 2),
          window: call.features.causal === "upper-left" ? 2 * TOKENS : 300,
        },
      };
      const cache = await engine.createCache(form);
      try {
        const rows = (heads: number, length: number, width: number) =>
          floatsOf(numbers, call.dtype, [1, heads, length, width]);
        const [key, value] = [rows(1, TOKENS, headDim), rows(1, TOKENS, valueDim)];
        await cache.append(appendProblem(read, cache.form, key, value, readOptions(read, {}, namesIn(APPEND))));
        const results = [];
        for (const queries of QUERIES) {
          const tokens = [rows(1, queries, headDim), rows(1, queries, valueDim)] as const;
          const append = appendProblem(read, cache.form, ...tokens, readOptions(read, {}, namesIn(APPEND)));
          const [during, after] = [
            formWhileGaining(cache.form, cache.appended, append),
            tokensAfter(cache.appended, append),
          ];
          const extents = { batchSize: 1, numHeads: group, queries, keys: longest(during, after) };
          const options = readOptions(read, sampleOptions(call.features, numbers, extents), ATTEND_NAMES);
          const request = attendRequest(read, cache.form, rows(group, queries, headDim), options);
          results.push(
            await cache.step(
              append,
              request.at(after, (settings) => settings, during, undefined, [0]),
            ),
          );
        }
        return results;
      } finally {
        cache.release();
      }
    },
  };
}
