import type { ResultTensor } from "../../attention/attentionResult.js";
import type { AttendView, RowChoice } from "../../attention/views.js";
import type { ForwardProblem } from "../../layer/forwardProblem.js";
import type { PlacedLayerViews } from "../../layer/views.js";
import type { WeightDtype } from "../../linear/weight.js";
import { chosenOf } from "../attention/chosenRows.js";
import { numbersOf, type HeadArray } from "../attention/moveRows.js";
import { handInRank } from "../attention/result.js";
import { viewRoom, viewRows, type ResultForm } from "../attention/viewRows.js";
import { padded } from "../cache/cacheStore.js";
import type { Call, Deliver } from "../call/call.js";
import type { Kernel } from "../kernels/kernel.js";
import { FLAT_WORKGROUP } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";
import type { Section } from "./matrix.js";

/**
 * Lists the kernels that write what a call shows of its inside.
 *
 * @param output - The output projection, with contributions.
 */
export function viewInside(
  call: Call,
  problem: ForwardProblem,
  arrays: Readonly<Record<AttendView, HeadArray | undefined>>,
  output: Section | undefined,
  outputDim: number,
): Deliver<PlacedLayerViews> {
  const rows = viewRows(call, problem, arrays);
  const choice = problem.views.contributions;
  if (!choice) return rows;
  const contributions = viewContributions(call, problem, choice, arrays.headOutputs!, output!, outputDim);
  return (mapped) => ({ ...rows(mapped), contributions: contributions(mapped) });
}

/** Rows that an invocation computes. */
const ROWS = 8;

export function headShares(weight: WeightDtype): Kernel {
  return { name: "head_shares", weight, constants: { THREADS: FLAT_WORKGROUP, ROWS, SCALED: weight === "int8" } };
}

/** The shares of chosen heads in the output, [B, heads, rows, outputDim]: results of heads times their rows of Wo. */
function viewContributions(
  call: Call,
  form: ResultForm,
  choice: RowChoice,
  { extents, span: x, strides }: HeadArray,
  { matrix }: Section,
  outputDim: number,
): Deliver<ResultTensor<"float32">> {
  const [batchSize, numHeads, length, width] = extents;
  const { heads, rows } = chosenOf(choice, numHeads, length);
  const full = [batchSize, heads.length, rows.length, outputDim];
  const span = viewRoom(call, form, "contributions", full);
  const columns4 = divideUp(outputDim, 4);
  const numRows = batchSize * rows.length;
  const rowBlocks = divideUp(numRows, ROWS);
  const count = heads.length * rowBlocks * columns4;
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  const weights = [width, padded(width), matrix.columns4, outputDim, columns4];
  const sizes = [rows.length, numRows, rowBlocks, heads.length, count];
  call.dispatch(headShares(matrix.dtype), workgroups, {
    0: call.numbers([...numbersOf(strides), ...weights, ...sizes], workgroups),
    1: x,
    2: matrix.weight,
    3: call.table(Uint32Array.from([...rows, ...heads])),
    4: span,
    ...(matrix.scales && { 7: matrix.scales }),
  });
  return handInRank(call, form, span, full, "float32");
}
