import type { Patches } from "../../attention/patch.js";
import type { Call } from "../call/call.js";
import type { PlannedAttention } from "../plan/plannedAttention.js";
import { stridesOf } from "../plan/strides.js";
import type { Attended } from "./attention.js";
import { queryTokens } from "./chosenRows.js";
import type { HeadArray } from "./moveRows.js";
import { patchWeights } from "./patchedWeights.js";
import { patchRows } from "./patchRows.js";

/**
 * Overwrites the weights and the results of heads of an attention pass.
 *
 * @param valueDim - The width of a head's result without padding.
 * @returns The results of heads; undefined if the pass computes no output.
 */
export function patchAttended(
  call: Call,
  planned: PlannedAttention,
  attended: Attended,
  patches: Patches | undefined,
  valueDim: number,
): HeadArray | undefined {
  if (patches?.probs) patchWeights(call, planned, attended, patches.probs);
  if (!attended.wide) return undefined;
  const { problem, sequences } = planned;
  const { batchSize, numHeads, queryLength } = problem.shape;
  const heads: HeadArray = {
    span: attended.wide,
    strides: stridesOf(problem.layout, numHeads, queryLength, problem.shape.valueDim),
    dtype: "float32",
    extents: [batchSize, numHeads, queryLength, valueDim],
  };
  if (patches?.headOutputs)
    patchRows(call, "headOutputs", patches.headOutputs, heads, queryTokens(sequences, queryLength));
  return heads;
}
