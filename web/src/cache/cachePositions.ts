import type { PositionSettings, SequencePositions } from "../attention/callPositions.js";
import type { CacheForm } from "./cacheProblem.js";
import { heldLength } from "./heldTokens.js";

/**
 * The rows of each batch of a cache, and their positions.
 *
 * @param appended - For each batch: how many tokens were appended and not rewound.
 */
export function cachePositions(
  form: Pick<CacheForm, "ring">,
  appended: readonly number[],
  { queryLengths, keyLengths, queryOffset, causal }: PositionSettings,
  numQueries: number,
): SequencePositions[] {
  return appended.map((total, b) => {
    const numKeys = heldLength(form, total, b);
    const queryLength = queryLengths?.[b] ?? numQueries;
    const keyLength = Math.min(keyLengths?.[b] ?? numKeys, numKeys);
    const offset = queryOffset?.[b] ?? (causal === "upper-left" ? 0 : total - queryLength);
    const isAfterGap = form.ring !== undefined && keyLength > form.ring.keepFirst;
    const lastKey = keyLength - 1 + (isAfterGap ? total - numKeys : 0);
    return { numQueries, numKeys, queryLength, keyLength, offset, lastKey };
  });
}
