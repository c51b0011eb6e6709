import type { PlacedResult, ResultTensor } from "../../attention/attentionResult.js";
import type { AttentionShape } from "../../attention/attentionShape.js";
import { selectedExtents, type Selection } from "../../attention/returns.js";
import { product } from "../../tensor/product.js";
import type { Arrays } from "./attentionArrays.js";
import { tablesOf } from "../plan/attentionParams.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { FLAT_THREADS } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";
import { FEATURE, type Params } from "../kernels/params.js";
import type { InspectPlan } from "../plan/plan.js";
import type { PlannedAttention } from "../plan/plannedAttention.js";
import { handInRank } from "./result.js";

/** Stages of inspect.wgsl. The formulas of the kernel make the difference between "biased" and "formula". */
const STAGE = { raw: 0, softcapped: 1, biased: 2, formula: 2, probs: 3, ranked: 4 } as const;

/** Inspections that are listed. */
interface Inspected {
  readonly results: Partial<Record<"probs" | "scores" | "topK", Deliver<unknown>>>;
  /** Where the probabilities are written, if they are wanted. */
  readonly probs: Span | undefined;
}

/** Lists the kernels that write probabilities and scores. */
export function recordInspections(call: Call, planned: PlannedAttention, arrays: Arrays): Inspected {
  const results: { -readonly [Name in keyof Inspected["results"]]: Deliver<unknown> } = {};
  let probs: Span | undefined;
  for (const plan of planned.plan.inspect) {
    if (plan.topK) {
      results.topK = topK(call, planned, arrays, plan);
      continue;
    }
    const { span, deliver } = dense(call, planned, arrays, plan);
    if (plan.stage === "probs") probs = span;
    results[plan.stage === "probs" ? "probs" : "scores"] = deliver;
  }
  return { results, probs };
}

function dense(
  call: Call,
  planned: PlannedAttention,
  arrays: Arrays,
  plan: InspectPlan,
): { readonly span: Span; readonly deliver: Deliver<ResultTensor<"float32">> } {
  const { problem } = planned;
  const { shape } = problem;
  const full = [shape.batchSize, plan.heads, plan.queries, shape.keyLength];
  const bytes = 4 * product(full);
  const target = call.resultRoom(bytes, problem.location);
  inspect(call, planned, arrays, plan, target, 0, plan.queries);
  return { span: target, deliver: handInRank(call, problem, { ...target, bytes }, full, "float32") };
}

/** Writes [B, heads, count, Skv] for `count` of the chosen queries, beginning with number `first`. */
export function inspect(
  call: Call,
  planned: PlannedAttention,
  arrays: Arrays,
  plan: InspectPlan,
  target: Span,
  first: number,
  count: number,
): void {
  const { problem, params: shared, sequences, formulaWords } = planned;
  const { shape } = problem;
  const chosen = chosenIndices(plan.selection, shape);
  const rowTiles = divideUp(count, plan.tiles.queryRows);
  const workgroups = shape.batchSize * plan.heads * rowTiles * divideUp(shape.keyLength, plan.tiles.keys);
  const params = {
    ...shared,
    row_tiles: rowTiles,
    chosen_heads: chosen.heads.length,
    chosen_queries: chosen.queries.length,
    first_row: first,
    row_count: count,
    stage: STAGE[plan.stage],
    features: shared.features | (plan.selection.average ? FEATURE.average : 0),
  };
  const tables = call.table(tablesOf(problem, sequences, formulaWords, [...chosen.heads, ...chosen.queries]));
  const pairs = shape.batchSize * (plan.selection.average ? shape.numHeads : plan.heads) * count * shape.keyLength;
  const given = { ...arrays.inputs, 6: tables, 7: target, 8: arrays.rows };
  for (const keys of inspectedKeys(params))
    call.dispatchLong(
      plan.kernel,
      workgroups,
      pairs * shape.headDim,
      (start, some) => call.params({ ...params, ...keys }, some, start),
      given,
    );
}

/** The first keys of a ring may have queries of their own: then they are inspected by themselves. */
function inspectedKeys({
  kept_queries,
  ring_kept,
  key_to,
}: Params): Pick<Params, "kept_queries" | "key_from" | "key_to">[] {
  if (kept_queries === 0) return [{ kept_queries, key_from: 0, key_to }];
  return [
    { kept_queries, key_from: 0, key_to: ring_kept },
    { kept_queries: 0, key_from: ring_kept, key_to },
  ];
}

function chosenIndices({ heads, queries }: Selection, { numHeads, queryLength }: AttentionShape) {
  const all = (count: number) => Int32Array.from({ length: count }, (_, n) => n);
  return { heads: heads ?? all(numHeads), queries: queries ?? all(queryLength) };
}

function topK(call: Call, planned: PlannedAttention, arrays: Arrays, plan: InspectPlan): Deliver<PlacedResult["topK"]> {
  const { problem, params: shared } = planned;
  const { shape } = problem;
  const { kernel, k } = plan.topK!;
  const [heads, queries] = selectedExtents(plan.selection, shape);
  const full = [shape.batchSize, heads, queries, k];
  const bytes = 4 * product(full);
  const room = () => call.resultRoom(bytes, problem.location);
  const [values, indices] = [room(), room()];
  const ranked = call.room(4 * shape.batchSize * heads * plan.rowsPerStep * shape.keyLength);
  for (let first = 0; first < queries; first += plan.rowsPerStep) {
    const count = Math.min(plan.rowsPerStep, queries - first);
    inspect(call, planned, arrays, plan, ranked, first, count);
    const workgroups = shape.batchSize * heads * count;
    const params = { ...shared, chosen_queries: queries, first_row: first, row_count: count, top_k: k };
    const numbersOf = (start: number, some: number) => call.params(params, some, start);
    // How long comparisons take says little of products.
    const comparisons = workgroups * k * (shape.keyLength + FLAT_THREADS * Math.log2(FLAT_THREADS));
    call.dispatchLong(kernel, workgroups, comparisons, numbersOf, { 7: values, 8: indices, 9: ranked }, false);
  }
  const collect = {
    values: handInRank(call, problem, { ...values, bytes }, full, "float32"),
    indices: handInRank(call, problem, { ...indices, bytes }, full, "int32"),
  };
  return (result) => ({ values: collect.values(result), indices: collect.indices(result) });
}
