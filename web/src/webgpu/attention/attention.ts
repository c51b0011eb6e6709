import type { AttentionProblem } from "../../attention/attentionProblem.js";
import type { PlacedResult, ResultTensor } from "../../attention/attentionResult.js";
import type { AttentionShape } from "../../attention/attentionShape.js";
import type { RowPatch } from "../../attention/patch.js";
import { OptionError } from "../../base/errors.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { tablesOf } from "../plan/attentionParams.js";
import type { AttendPlan } from "../plan/plan.js";
import { plannedAttention, type PlannedAttention } from "../plan/plannedAttention.js";
import { resolveSequences } from "../plan/sequences.js";
import { placeArrays, rowSection, SECTION, type Arrays } from "./attentionArrays.js";
import { emptyRowCheck } from "./emptyRows.js";
import { recordInspections } from "./inspections.js";
import { outputRoom, writeOutput } from "./output.js";
import { handInRank } from "./result.js";

/** Lists the commands of a call. */
export function recordAttention(call: Call, problem: AttentionProblem): Deliver<PlacedResult> {
  const sequences = resolveSequences(problem.shape, problem.settings, problem.ragged);
  const planned = plannedAttention(problem, sequences, call.core.device.capabilities);
  return deliverAttended(call, planned, attendOn(call, planned));
}

interface Recordable extends Pick<AttentionProblem, "operation" | "settings" | "wanted" | "location"> {
  /** What a layer shows of its inside. */
  readonly views?: object;
}

/** The problem of a call that is recorded for the caller. Its results stay on the GPU. */
export function forEncoder<P extends Recordable>(problem: P): P {
  const { operation, settings, wanted, views = {} } = problem;
  if (settings.emptyRows === "throw")
    throw new OptionError(`${operation}: emptyRows must not be "throw": nobody looks at a recorded call's rows`);
  if (!Object.values({ ...wanted, ...views }).some((part) => part))
    throw new OptionError(`${operation}: returns must ask for something`);
  return { ...problem, location: "gpu" };
}

/** Reads all results of an attention pass, or hands them over on the GPU. */
export function deliverAttended(
  call: Call,
  { problem, plan }: PlannedAttention,
  { wide, collect }: Attended,
): Deliver<PlacedResult> {
  const length = outputLength(problem.shape);
  const output = wide && writeOutput(call, problem.output, wide, length, plan.narrow, problem.location);
  return (result) => ({ ...collect(result), ...(output && { output: output(result) }) }) as PlacedResult;
}

/** An attention pass that is listed. */
export interface Attended {
  /** The output as float32, if it is wanted. */
  readonly wide: Span | undefined;
  readonly arrays: Arrays;
  /** The probabilities, if they are wanted. */
  readonly probs: Span | undefined;
  readonly collect: Deliver<Omit<PlacedResult, "output">>;
}

/**
 * Places the arrays and lists the kernels. The output is float32 on the GPU: the result itself if it stays there
 * (`outputLocation`). `collect` first throws if a row sees no key and the call forbids that; then it reads all other
 * results.
 *
 * @param weights - Rows whose weights the caller overwrites.
 */
export function attendOn(
  call: Call,
  planned: PlannedAttention,
  outputLocation = planned.problem.location,
  weights?: RowPatch,
): Attended {
  const { problem, plan } = planned;
  const { wanted, output, shape, settings } = problem;
  const arrays = placeArrays(call, planned);
  const checkRows =
    settings.emptyRows === "throw"
      ? emptyRowCheck(call, planned, rowSection(arrays, planned, SECTION.flags), weights)
      : undefined;
  const wide = wanted.output ? outputRoom(call, output, outputLength(shape), plan.narrow, outputLocation) : undefined;
  if (plan.attend) attend(call, planned, arrays, plan.attend, wide);
  const { results, probs } = recordInspections(call, planned, arrays);
  const collectors = { ...rowResults(call, planned, arrays), ...results };
  const collect = (result: ArrayBuffer) => {
    checkRows?.(result);
    return Object.fromEntries(Object.entries(collectors).map(([name, read]) => [name, read(result)]));
  };
  return { wide, arrays, probs, collect };
}

function outputLength({ batchSize, numHeads, queryLength, valueDim }: AttentionShape): number {
  return batchSize * numHeads * queryLength * valueDim;
}

/** The attention pass. The plan may split the keys into parts. */
function attend(
  call: Call,
  { problem, sequences, params: shared, formulaWords, plan: whole }: PlannedAttention,
  arrays: Arrays,
  plan: AttendPlan,
  output: Span | undefined,
): void {
  const tables = call.table(tablesOf(problem, sequences, formulaWords));
  const params = {
    ...shared,
    row_tiles: plan.rowTiles,
    value_blocks: plan.valueBlocks,
    block_columns: plan.tiles.valueColumns / (4 * (whole.stored.perLoad ?? 1)),
    key_parts: plan.keyParts,
    keys_per_part: plan.keysPerPart,
  };
  const results = { ...(output && { 7: output }), 8: arrays.rows };
  const { attend, merge } = plan;
  const attendTo = (written: Readonly<{ [binding: number]: Span }>) => {
    const numbers = (first: number, count: number) => call.params(params, count, first);
    const given = { ...arrays.inputs, 6: tables, ...written };
    call.dispatchLong(attend.kernel, attend.workgroups, whole.multiplyAdds, numbers, given);
  };
  if (!merge) {
    attendTo(results);
    return;
  }
  const partOutputs = call.room(Math.max(plan.partBytes.outputs, 4));
  const partRows = call.room(plan.partBytes.statistics);
  attendTo({ 7: partOutputs, 8: partRows });
  call.dispatch(merge.kernel, merge.workgroups, {
    0: call.params(params, merge.workgroups),
    3: arrays.inputs[3]!,
    6: tables,
    ...results,
    9: partRows,
    10: partOutputs,
  });
}

type RowResult = "lse" | "entropy";

function rowResults(
  call: Call,
  planned: PlannedAttention,
  arrays: Arrays,
): Partial<Record<RowResult, Deliver<ResultTensor<"float32">>>> {
  const { problem } = planned;
  const { shape, wanted, location } = problem;
  const full = [shape.batchSize, shape.numHeads, shape.queryLength];
  const section = (name: RowResult) => {
    const span = rowSection(arrays, planned, SECTION[name]);
    if (location === "cpu") return handInRank(call, problem, span, full, "float32");
    const own = call.resultRoom(span.bytes, location);
    call.copyOut(span, own);
    return handInRank(call, problem, own, full, "float32");
  };
  return { ...(wanted.lse && { lse: section("lse") }), ...(wanted.entropy && { entropy: section("entropy") }) };
}
