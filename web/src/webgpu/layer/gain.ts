import type { CacheForm } from "../../cache/cacheProblem.js";
import { formWhileGaining } from "../../cache/heldTokens.js";
import type { ForwardProblem } from "../../layer/forwardProblem.js";

/** Number of tokens that batch b of the cache gains. */
export function gainOf({ attendOnly, appendLengths, contextLength }: ForwardProblem, b: number): number {
  return attendOnly ? 0 : (appendLengths?.[b] ?? contextLength);
}

/** The form of the cache while the queries of a call attend. */
export function formDuring(problem: ForwardProblem, form: CacheForm, before: readonly number[]): CacheForm {
  const lengths = Int32Array.from(before, (_, b) => gainOf(problem, b));
  return formWhileGaining(form, before, { numTokens: problem.contextLength, lengths });
}
