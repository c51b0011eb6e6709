import { headsOf, type Head } from "./heads.js";
import type { Encoding } from "./encoder.js";

/**
 * The share of a head's attention that is no longer where it was, from 0 to 1: what the weights of a row have lost,
 * averaged over the rows. A row that attends to nothing any more has lost all.
 */
export function movedAttention(before: Pick<Head, "probs">, after: Pick<Head, "probs">): number {
  const tokens = Math.sqrt(before.probs.length);
  let moved = 0;
  before.probs.forEach((prob, i) => (moved += Math.max(prob - after.probs[i]!, 0)));
  return tokens > 0 ? moved / tokens : 0;
}

/** The same for every head, layer by layer. */
export function movedByHead(before: Encoding, after: Encoding): number[] {
  const heads = headsOf(after);
  return headsOf(before).map((head, index) => movedAttention(head, heads[index]!));
}
