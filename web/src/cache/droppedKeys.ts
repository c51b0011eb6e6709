import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { SequencePositions } from "../attention/callPositions.js";
import { OptionError } from "../base/errors.js";
import type { CacheForm } from "./cacheProblem.js";

/**
 * Throws if a call that is causal or has a window would see tokens that a ring has dropped. Query i of batch b is at position
 * i + `offset`.
 */
export function refuseDropped(
  operation: string,
  { ring }: Pick<CacheForm, "ring">,
  appended: readonly number[],
  { causal, window }: Pick<AttentionSettings, "causal" | "window">,
  sequences: readonly SequencePositions[],
): void {
  const usesPositions = causal !== "none" || window.left !== undefined || window.right !== undefined;
  if (!ring || !usesPositions) return;
  const reach = Math.min(window.left ?? Infinity, (ring.sight ?? ring.window) - 1);
  const ahead = causal === "none" ? (window.right ?? Infinity) : 0;
  for (const [b, { numKeys, queryLength, offset }] of sequences.entries()) {
    const dropped = appended[b]! - numKeys;
    const first = Math.max(offset, ring.keepFirst - ahead);
    const [from, gone] = [Math.max(first - reach, ring.keepFirst), ring.keepFirst + dropped];
    if (dropped > 0 && first < offset + queryLength && first - reach < gone)
      throw new OptionError(
        `${operation}: the query at position ${first} of batch ${b} sees keys from position ${from} on, ` +
          `and the ring has dropped those before ${gone}`,
        { hint: "step, and layer.forward with a cache, attend before they drop." },
      );
  }
}
