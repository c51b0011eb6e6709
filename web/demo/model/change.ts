import { headsOf, type Head } from "./heads.js";
import type { Encoding } from "./encoder.js";

/**
 * The share of attention that a head has moved, from 0 to 1: half the sum of the absolute differences of a row,
 * averaged over the rows.
 */
export function movedAttention(before: Head, after: Head): number {
  const tokens = Math.sqrt(before.probs.length);
  let moved = 0;
  before.probs.forEach((prob, i) => (moved += Math.abs(prob - after.probs[i]!) / 2));
  return tokens > 0 ? moved / tokens : 0;
}

/** The same for every head, layer by layer. */
export function movedByHead(before: Encoding, after: Encoding): number[] {
  const heads = headsOf(after);
  return headsOf(before).map((head, index) => movedAttention(head, heads[index]!));
}
