import { UnsupportedError } from "../base/errors.js";
import type { OptionReader } from "../read/options.js";
import type { CacheForm, HeldRing } from "./cacheProblem.js";
import { droppedTokens } from "./heldTokens.js";

/**
 * The place in a ring of a query at a position of the text: the tokens do not count that the ring has dropped, or would
 * have, if the query's token were the last one.
 *
 * @param dropped - How many tokens of the batch the ring has dropped.
 */
export function placeOfQuery({ keepFirst, sight }: HeldRing, position: number, dropped: number): number {
  return sight === undefined ? position - dropped : Math.min(position, keepFirst + sight - 1);
}

/** Throws if a call says where its tokens stand in a ring whose positions are its places. */
export function refuseGivenPlaces(options: OptionReader, { ring }: Pick<CacheForm, "ring">): void {
  if (ring?.positions === "cache")
    throw options.refuse(
      "positions",
      'be absent with ring.positions "cache"',
      "The places in the cache are the positions.",
    );
}

/** Throws if a slice would join tokens between which a ring has dropped others: their keys stay turned as in the text. */
export function refuseSliceAcrossGap(
  operation: string,
  { form, appended }: { readonly form: Pick<CacheForm, "ring" | "rotary">; readonly appended: readonly number[] },
  [from, to]: readonly [number, number],
): void {
  const { ring } = form;
  if (!form.rotary || ring?.positions !== "cache" || from >= ring.keepFirst || to <= ring.keepFirst) return;
  const b = appended.findIndex((total, n) => droppedTokens(form, total, n) > 0);
  if (b >= 0)
    throw new UnsupportedError(
      `${operation}: a slice must not have tokens before and after row ${ring.keepFirst} with ring.positions "cache" once ` +
        `the ring has dropped tokens there, as batch ${b} has, got from ${from} and to ${to}`,
      { hint: "`fork` copies the whole ring. A slice of the later tokens alone starts at `keepFirst`." },
    );
}
