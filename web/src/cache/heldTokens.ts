import { largestOf } from "../tensor/largest.js";
import type { CacheForm } from "./cacheProblem.js";

/** How many tokens a cache of this form holds after `appended` tokens. */
export function heldLength({ ring }: Pick<CacheForm, "ring">, appended: number): number {
  return ring ? Math.min(appended, ring.keepFirst + ring.window) : appended;
}

/** The tokens appended to each batch after an append of `numTokens` rows, of which the first `lengths[b]` are tokens. */
export function tokensAfter(
  appended: readonly number[],
  { numTokens, lengths }: { readonly numTokens: number; readonly lengths: Int32Array | undefined },
): number[] {
  return appended.map((tokens, b) => tokens + (lengths?.[b] ?? numTokens));
}

/**
 * The form that a cache has while it gains tokens and their queries attend. A ring must not drop what they see: it is then
 * longer, and each query sees what it would if the tokens came one by one. Without such a ring it is `form`.
 */
export function formWhileGaining<F extends Pick<CacheForm, "ring">>(
  form: F,
  appended: readonly number[],
  append: { readonly numTokens: number; readonly lengths: Int32Array | undefined },
): F {
  const { ring } = form;
  if (!ring) return form;
  const after = tokensAfter(appended, append);
  const drops = (total: number, b: number) => total > appended[b]! + 1 && total > heldLength(form, total);
  if (!after.some(drops)) return form;
  const most = largestOf(after.map((total, b) => total - appended[b]!));
  return { ...form, ring: { ...ring, window: ring.window + most, sight: ring.window } };
}

/** How many tokens the fullest batch holds after `appended` tokens of each. */
export function longest(form: Pick<CacheForm, "ring">, appended: readonly number[]): number {
  return largestOf(appended.map((tokens) => heldLength(form, tokens)));
}
