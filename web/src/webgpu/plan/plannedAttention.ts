import type { AttentionProblem } from "../../attention/attentionProblem.js";
import { formulaWords } from "../formula/formulaWords.js";
import { inputStrides, paramsOf, type AllStrides, type InPlace } from "./attentionParams.js";
import { factsOf, type AttentionFacts } from "./facts.js";
import type { Limits } from "./limits.js";
import type { Params } from "../kernels/params.js";
import { planAttention, type AttentionPlan } from "./plan.js";
import type { Sequence } from "./sequences.js";
import { checkSettings } from "./settings.js";

/** A call of attention with everything that follows from it without a GPU. Only its arrays are still to be placed. */
export interface PlannedAttention {
  readonly problem: AttentionProblem;
  readonly sequences: readonly Sequence[];
  readonly plan: AttentionPlan;
  readonly strides: AllStrides;
  /** The numbers that all kernels share. */
  readonly params: Params;
  /** The numbers and tables of the formulas. */
  readonly formulaWords: Float32Array;
}

/**
 * Plans a call.
 *
 * @throws UnsupportedError if the call exceeds a limit of the device.
 */
export function plannedAttention(
  problem: AttentionProblem,
  sequences: readonly Sequence[],
  limits: Limits,
  inPlace: InPlace = {},
): PlannedAttention {
  const { query, keptQueries, cached } = inPlace;
  const facts = factsOf(problem, sequences);
  const there: AttentionFacts = {
    ...facts,
    inPlace: [...(query ? (["query"] as const) : []), ...(cached ? (["key", "value"] as const) : [])],
    ...(cached && { dtypes: { ...facts.dtypes, key: cached.dtype, value: cached.dtype } }),
    ring: cached?.ring !== undefined,
    ...(keptQueries && { keptKeys: cached!.ring!.keepFirst }),
  };
  const plan = planAttention(there, limits);
  checkSettings(problem, limits);
  const strides = inputStrides(problem, plan, inPlace);
  return {
    problem,
    sequences,
    plan,
    strides,
    params: paramsOf(problem, plan, sequences, strides, inPlace),
    formulaWords: formulaWords(problem.settings, problem.shape.headDim),
  };
}
