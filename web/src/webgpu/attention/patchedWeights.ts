import type { AttentionProblem } from "../../attention/attentionProblem.js";
import type { Patches, RowPatch } from "../../attention/patch.js";
import { UnsupportedError } from "../../base/errors.js";
import type { Call, Span } from "../call/call.js";
import type { Kernel } from "../kernels/kernel.js";
import { tablesOf } from "../plan/attentionParams.js";
import { FLAT_THREADS } from "../plan/flatKernels.js";
import { checkBytes } from "../plan/limits.js";
import { planInspection } from "../plan/plan.js";
import type { PlannedAttention } from "../plan/plannedAttention.js";
import { stridesOf } from "../plan/strides.js";
import type { Stored } from "../plan/tiles.js";
import type { Attended } from "./attention.js";
import { chosenOf, ofRows, queryTokens, type Chosen } from "./chosenRows.js";
import { inspect } from "./inspections.js";
import { moveRows, type StridedRows } from "./moveRows.js";
import { placeData } from "./patchRows.js";

/** Refuses what only the other engine gives together with patched weights. */
export function refuseWithWeights({
  operation,
  patches,
  wanted,
}: Pick<AttentionProblem, "operation" | "wanted"> & { readonly patches: Patches | undefined }): void {
  if (!patches?.probs) return;
  const refused = wanted.topK ? "returns.topK" : wanted.probs?.average ? "returns.probs.average" : undefined;
  if (refused)
    throw new UnsupportedError(`${operation}: ${refused} with patch.probs is not offered on WebGPU`, {
      hint: 'Use backend "wasm", or ask for returns.probs of the heads.',
    });
}

/**
 * Gives rows of an attention pass other weights. It writes their output, their entropy and their probabilities anew, as
 * far as these are wanted.
 */
export function patchWeights(call: Call, planned: PlannedAttention, attended: Attended, patch: RowPatch): void {
  const { problem, sequences } = planned;
  const { output, entropy, probs } = problem.wanted;
  if (!output && !entropy && !probs) return;
  const { batchSize, numHeads, queryLength, keyLength } = problem.shape;
  const chosen = chosenOf(patch, numHeads, queryLength);
  const { heads, rows } = chosen;
  const isToken = queryTokens(sequences, queryLength);
  /** For each row without padding its batch, its number in the patch, and its number in the call. */
  const tokens = ofRows(batchSize, rows, (b, n, row) => (isToken(b, row) ? [b, n, row] : []));
  const weights =
    patch.data === "mean"
      ? meanWeights(call, planned, attended, patch, chosen)
      : placeData(call, "probs", patch.data, [heads.length, rows.length, keyLength]);
  if (output || entropy) weigh(call, planned, attended, weights.span, chosen, tokens);
  if (attended.probs) showWeights(call, planned, attended.probs, weights, chosen);
}

export function weighValues(stored: Stored): Kernel {
  return { name: "weigh_values", ...stored, constants: { THREADS: FLAT_THREADS, OPTIONS: true } };
}

export function meanOfWeights(stored: Stored): Kernel {
  return { name: "mean_weights", ...stored, constants: { THREADS: FLAT_THREADS, OPTIONS: true } };
}

/** Computes the results of rows from their weights, [B, heads, rows, Skv]. */
function weigh(
  call: Call,
  { problem, plan, params: shared, sequences, formulaWords }: PlannedAttention,
  { arrays, wide }: Attended,
  weights: Span,
  { heads, rows }: Chosen,
  tokens: readonly number[],
): void {
  const workgroups = (tokens.length / 3) * heads.length;
  const params = { ...shared, chosen_heads: heads.length, chosen_queries: rows.length };
  const numbersOf = (first: number, count: number) => call.params(params, count, first);
  const given = {
    3: arrays.inputs[3]!,
    6: call.table(tablesOf(problem, sequences, formulaWords, [...heads, ...tokens])),
    ...(wide && { 7: wide }),
    8: arrays.rows,
    9: weights,
  };
  const { keyLength, valueDim } = problem.shape;
  // weights of 0 are skipped
  call.dispatchLong(weighValues(plan.stored), workgroups, workgroups * keyLength * valueDim, numbersOf, given, false);
}

/** The weights of rows, with the mean of each row in place of each weight. */
function meanWeights(
  call: Call,
  planned: PlannedAttention,
  { arrays }: Attended,
  patch: RowPatch,
  { heads, rows }: Chosen,
): StridedRows {
  const { problem, plan, params: shared, sequences, formulaWords } = planned;
  const { batchSize, keyLength } = problem.shape;
  const { capabilities } = call.core.device;
  const bytes = 4 * batchSize * heads.length * rows.length * keyLength;
  checkBytes(call.operation, "patch.probs", bytes, capabilities);
  const span = call.room(bytes);
  const selection = { heads: patch.heads, queries: patch.rows, average: false };
  const ranks = planInspection(plan.facts, capabilities, plan.stored, "ranked", selection);
  inspect(call, planned, arrays, ranks, span, 0, rows.length);
  const workgroups = batchSize * heads.length * rows.length;
  const params = { ...shared, chosen_heads: heads.length, row_count: rows.length };
  call.dispatch(meanOfWeights(plan.stored), workgroups, {
    0: call.params(params, workgroups),
    6: call.table(tablesOf(problem, sequences, formulaWords, [...heads, ...rows])),
    7: span,
    8: arrays.rows,
  });
  return { span, strides: stridesOf("BHSD", heads.length, rows.length, keyLength), dtype: "float32" };
}

/** Writes weights over the probabilities that the call returns, where both have the same head and row. */
function showWeights(
  call: Call,
  { problem, sequences }: PlannedAttention,
  probs: Span,
  weights: StridedRows,
  patched: Chosen,
): void {
  const { batchSize, numHeads, queryLength, keyLength } = problem.shape;
  const { heads, queries } = problem.wanted.probs!;
  const shown = chosenOf({ heads, rows: queries }, numHeads, queryLength);
  const isToken = queryTokens(sequences, queryLength);
  const [rowNumbers, headNumbers] = [numbersIn(patched.rows), numbersIn(patched.heads)];
  const moves = {
    rows: ofRows(batchSize, shown.rows, (b, n, row) => {
      const from = rowNumbers.get(row);
      return from !== undefined && isToken(b, row) ? [b, from, n] : [];
    }),
    heads: shown.heads.flatMap((head, n) => {
      const from = headNumbers.get(head);
      return from !== undefined ? [from, n] : [];
    }),
  };
  const strides = stridesOf("BHSD", shown.heads.length, shown.rows.length, keyLength);
  moveRows(call, weights, { span: probs, strides }, moves, keyLength);
}

/** The number of each index in a list. */
function numbersIn(list: readonly number[]): ReadonlyMap<number, number> {
  return new Map(list.map((index, n) => [index, n]));
}
