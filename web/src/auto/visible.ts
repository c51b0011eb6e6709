import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import type { Ragged } from "../attention/ragged.js";

/** The settings that decide by position which keys a query sees. */
export type VisibleSettings = Pick<
  AttentionSettings,
  "causal" | "window" | "queryOffset" | "keyLengths" | "queryLengths"
>;

/**
 * How many pairs of a query and a key are visible in one head, summed over the batch. Engines skip the other pairs. A
 * mask or a formula is not read: what only they hide counts as visible.
 *
 * @param atEnd - Whether the queries stand at the end of the keys by default, as in a cache.
 */
export function visiblePairs(
  shape: Pick<AttentionShape, "batchSize" | "queryLength" | "keyLength">,
  settings: VisibleSettings,
  ragged?: Ragged,
  atEnd = false,
): number {
  const { causal, window, queryOffset, keyLengths, queryLengths } = settings;
  const count = ragged ? ragged.query.length - 1 : shape.batchSize;
  const right = causal === "none" ? window.right : 0;
  let pairs = 0;
  for (let n = 0; n < count; ++n) {
    const numQueries = ragged ? ragged.query[n + 1]! - ragged.query[n]! : shape.queryLength;
    const numKeys = ragged ? ragged.key[n + 1]! - ragged.key[n]! : shape.keyLength;
    const queries = queryLengths?.[n] ?? numQueries;
    const keys = keyLengths?.[n] ?? numKeys;
    const aligned = causal === "lower-right" || (causal === "none" && atEnd) ? keys - queries : 0;
    const offset = queryOffset?.[n] ?? aligned;
    const end = right === undefined ? queries * keys : clampedSum(offset + right + 1, queries, keys);
    const begin = window.left === undefined ? 0 : clampedSum(offset - window.left, queries, keys);
    pairs += Math.max(end - begin, 0);
  }
  return pairs;
}

/** The sum of i + first, limited to 0..most, over i from 0 to count − 1. */
function clampedSum(first: number, count: number, most: number): number {
  const from = Math.min(Math.max(-first, 0), count); // the terms before are 0
  const to = Math.min(Math.max(most - first, from), count); // the terms from here on are `most`
  const between = to - from;
  return between * (first + from) + (between * (between - 1)) / 2 + (count - to) * most;
}
