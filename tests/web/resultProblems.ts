import type { AttentionOptions, AttentionResult, AveragedSlice } from "headwise";

import { differences } from "./close.js";
import { select, type ReferenceResult } from "../attention-conformance/reference/reference.js";
import { eligibleKeys, topKProblems } from "../attention-conformance/reference/topK.js";

/**
 * The problems of each output: values outside their bounds, or an output that was not asked for. Empty if there are
 * none.
 */
export function resultProblems(
  result: AttentionResult,
  returns: AttentionOptions["returns"] = {},
  reference: ReferenceResult,
): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  const check = (name: string, lines: string[]) => {
    if (lines.length > 0) found[name] = lines;
  };
  const isAsked = (part: string) =>
    part === "output" ? returns.output !== false : Boolean(returns[part as keyof typeof returns]);
  for (const part of Object.keys(result)) if (!isAsked(part)) found[part] = ["was not asked for"];
  if (returns.output !== false) check("output", differences(result.output, reference.output));
  if (returns.lse) check("lse", differences(result.lse, reference.lse));
  if (returns.entropy) check("entropy", differences(result.entropy, reference.entropy));
  if (returns.probs)
    check("probs", differences(result.probs, select(reference.probs, reference.shape, sliceOf(returns.probs))));
  if (returns.scores) {
    const choice = typeof returns.scores === "string" ? { stage: returns.scores } : returns.scores;
    check("scores", differences(result.scores, select(reference[choice.stage], reference.shape, sliceOf(choice))));
  }
  if (returns.topK && !reference.openRows.includes(1)) {
    const choice = typeof returns.topK === "number" ? { k: returns.topK } : returns.topK;
    const { probs, shape } = reference;
    const eligible = select(eligibleKeys(reference), shape, sliceOf(choice)).values;
    check("topK", topKProblems(result.topK, choice.k, shape.Skv, select(probs, shape, sliceOf(choice)), eligible));
  }
  return found;
}

function sliceOf(choice: true | AveragedSlice): Parameters<typeof select>[2] {
  if (choice === true) return {};
  const { heads, queries, average = false } = choice;
  return {
    ...(heads && { heads: heads as readonly number[] }),
    ...(queries && { queries: queries as readonly number[] }),
    average,
  };
}
