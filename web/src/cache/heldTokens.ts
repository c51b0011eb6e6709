import { largestOf } from "../tensor/largest.js";
import type { CacheForm } from "./cacheProblem.js";

type Form = Pick<CacheForm, "ring">;

/** How many tokens of batch b a cache of this form has dropped after `appended` tokens. */
export function droppedTokens({ ring }: Form, appended: number, b: number): number {
  if (!ring) return 0;
  return ring.dropped?.[b] ?? Math.max(0, appended - ring.keepFirst - ring.window);
}

/** How many tokens of batch b it holds then. */
export function heldLength(form: Form, appended: number, b: number): number {
  return appended - droppedTokens(form, appended, b);
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
export function formWhileGaining<F extends Form>(
  form: F,
  appended: readonly number[],
  append: { readonly numTokens: number; readonly lengths: Int32Array | undefined },
): F {
  const { ring } = form;
  if (!ring) return form;
  const after = tokensAfter(appended, append);
  const drops = (total: number, b: number) => total > appended[b]! + 1 && droppedTokens(form, total, b) > 0;
  if (!after.some(drops)) return form;
  const most = largestOf(after.map((total, b) => total - appended[b]!));
  const dropped = appended.map((total, b) => droppedTokens(form, total, b));
  return { ...form, ring: { ...ring, window: ring.window + most, sight: ring.window, dropped } };
}

/** How many tokens the fullest batch holds after `appended` tokens of each. */
export function longest(form: Form, appended: readonly number[]): number {
  return largestOf(appended.map((tokens, b) => heldLength(form, tokens, b)));
}

/** Whether an append brings a token to any batch: rows beyond `lengths` are padding. */
export function gainsTokens(numTokens: number, lengths: Int32Array | undefined): boolean {
  return lengths ? lengths.some((length) => length > 0) : numTokens > 0;
}
