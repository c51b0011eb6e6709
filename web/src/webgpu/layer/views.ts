import type { ResultTensor } from "../../attention/attentionResult.js";
import type { ForwardProblem } from "../../layer/forwardProblem.js";
import { VIEWS, type PlacedViews, type RowChoice } from "../../layer/views.js";
import { padded } from "../cache/cacheStore.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { handInRank } from "../attention/result.js";
import { FLAT_WORKGROUP } from "../plan/flatKernels.js";
import { checkBytes, divideUp } from "../plan/limits.js";
import type { FloatDtype, Kernel } from "../kernels/kernel.js";
import { stridesOf } from "../plan/strides.js";
import { chosenOf, ofRows } from "./chosenRows.js";
import type { Section } from "./matrix.js";
import { moveRows, NOWHERE, numbersOf, type HeadArray } from "./moveRows.js";
import type { Role } from "./roles.js";

/** How a call gives its results. */
type Form = Parameters<typeof handInRank>[1];

/**
 * Lists the kernels that write what a call shows of its inside.
 *
 * @param output - The output projection, with contributions.
 */
export function viewInside(
  call: Call,
  problem: ForwardProblem,
  arrays: Readonly<Record<Role, HeadArray>> & { readonly headOutputs: HeadArray | undefined },
  output: Section | undefined,
  outputDim: number,
): Deliver<PlacedViews> {
  const views = VIEWS.flatMap((name) => {
    const choice = problem.views[name];
    if (!choice) return [];
    const view =
      name === "contributions"
        ? viewContributions(call, problem, choice, arrays.headOutputs!, output!, outputDim)
        : viewRows(call, problem, name, choice, arrays[name]!);
    return [[name, view] as const];
  });
  return (mapped) => Object.fromEntries(views.map(([name, deliver]) => [name, deliver(mapped)]));
}

/** Copies chosen rows of chosen heads into a result, [B, heads, rows, width]. */
function viewRows(
  call: Call,
  form: Form,
  name: string,
  choice: RowChoice,
  { extents, placeOf = (_, row) => row, ...from }: HeadArray,
): Deliver<ResultTensor<"float32">> {
  const [batchSize, numHeads, length, width] = extents;
  const { heads, rows } = chosenOf(choice, numHeads, length);
  const full = [batchSize, heads.length, rows.length, width];
  const span = viewRoom(call, form, name, full);
  const moves = {
    rows: ofRows(batchSize, rows, (b, n, row) => [b, placeOf(b, row) ?? NOWHERE, n]),
    heads: heads.flatMap((head, n) => [head, n]),
  };
  moveRows(call, from, { span, strides: stridesOf("BHSD", heads.length, rows.length, width) }, moves, width);
  return handInRank(call, form, span, full, "float32");
}

/** Rows that an invocation computes. */
const ROWS = 8;

export function headShares(weight: FloatDtype): Kernel {
  return { name: "head_shares", weight, constants: { THREADS: FLAT_WORKGROUP, ROWS } };
}

/** The shares of chosen heads in the output, [B, heads, rows, outputDim]: results of heads times their rows of Wo. */
function viewContributions(
  call: Call,
  form: Form,
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
  });
  return handInRank(call, form, span, full, "float32");
}

function viewRoom(call: Call, { location }: Form, name: string, shape: readonly number[]): Span {
  const bytes = 4 * shape.reduce((product, extent) => product * extent, 1);
  checkBytes(call.operation, `returns.${name}`, bytes, call.core.device.limits);
  return { ...call.resultRoom(bytes, location), bytes };
}
