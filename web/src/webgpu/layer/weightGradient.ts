import type { Call, Span } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel, type Step } from "../plan/flatKernels.js";
import { checkBytes, divideUp } from "../plan/limits.js";
import { padded } from "../cache/cacheStore.js";
import type { Heads } from "./matrix.js";

/** Rows of whole vec4 on the GPU, [rows, row4]. */
export interface Matrix4 {
  readonly span: Span;
  readonly rows: number;
  readonly row4: number;
}

/** Sums over parts of the rows, [parts, inputs, 4 · row4]. They are still to be added. */
export interface PartSums {
  readonly span: Span;
  readonly parts: number;
  /** Elements from one part to the next, and from one row of a part to the next. */
  readonly part: number;
  readonly row: number;
}

/** The tile of the kernel: columns of X and of dY, and rows. */
export const GRADIENT_TILE = { columns: 64, depth: 16, threads: 64 } as const;
const TILE4 = GRADIENT_TILE.columns / 4;
const SUMS = { LANES: 16, SLICES: 8 } as const;

/** Rows are split into parts of at least this many, until there are enough workgroups. */
const LEAST_ROWS = 128;
const ENOUGH_TILES = 128;
const ENOUGH_SUMS = 256;

export interface SplitPlan extends Step {
  readonly parts: number;
  readonly partRows: number;
}

/** How the rows of a weight's gradient are split. Only the shape decides. */
export function planWeightGradient(rows: number, x4: number, dy4: number): SplitPlan {
  const tiles = divideUp(x4, TILE4) * divideUp(dy4, TILE4);
  const split = splitRows(rows, divideUp(ENOUGH_TILES, tiles), GRADIENT_TILE.depth);
  return { kernel: { name: "weight_gradient", constants: {} }, workgroups: tiles * split.parts, ...split };
}

/** The same for the sums of columns. */
export function planColumnSums(rows: number, row4: number): SplitPlan {
  const tiles = divideUp(row4, SUMS.LANES);
  const split = splitRows(rows, divideUp(ENOUGH_SUMS, tiles), SUMS.SLICES);
  return { kernel: { name: "column_sums", constants: SUMS }, workgroups: tiles * split.parts, ...split };
}

function splitRows(rows: number, wanted: number, step: number): Pick<SplitPlan, "parts" | "partRows"> {
  const most = Math.max(Math.min(Math.floor(rows / LEAST_ROWS), wanted), 1);
  const partRows = step * Math.max(divideUp(divideUp(rows, most), step), 1);
  return { parts: divideUp(rows, partRows), partRows };
}

/** XᵀdY, in parts. Rows of dY that are zero count for nothing. */
export function weightGradient(call: Call, x: Matrix4, dy: Matrix4): PartSums {
  const { kernel, workgroups, parts, partRows } = planWeightGradient(x.rows, x.row4, dy.row4);
  const sums = partSums(call, parts, 4 * x.row4, dy.row4);
  const tiles = [x.row4, dy.row4].map((row4) => divideUp(row4, TILE4));
  const numbersOf = (first: number, count: number) =>
    call.numbers([x.row4, dy.row4, x.rows, partRows, ...tiles, first], count);
  const given = { 1: x.span, 2: dy.span, 3: sums.span };
  call.dispatchLong(kernel, workgroups, 16 * x.rows * x.row4 * dy.row4, numbersOf, given);
  return sums;
}

/** The sums of the columns, in parts. */
export function columnSums(call: Call, { span, rows, row4 }: Matrix4): PartSums {
  const { kernel, workgroups, parts, partRows } = planColumnSums(rows, row4);
  const sums = partSums(call, parts, 1, row4);
  call.dispatch(kernel, workgroups, {
    0: call.numbers([row4, rows, partRows, divideUp(row4, SUMS.LANES)], workgroups),
    1: span,
    2: sums.span,
  });
  return sums;
}

function partSums(call: Call, parts: number, rows: number, row4: number): PartSums {
  const bytes = 16 * parts * rows * row4;
  checkBytes(call.operation, "the gradient of a weight", bytes, call.core.device.limits);
  return { span: call.room(bytes), parts, part: 4 * rows * row4, row: 4 * row4 };
}

/** Where a gradient is stored: element (in, out) at offset + in · inStride + out · outStride. */
export interface Place {
  readonly offset: number;
  readonly inStride: number;
  readonly outStride: number;
}

/** The place of the numbers of one row. */
export const ROW: Place = { offset: 0, inStride: 0, outStride: 1 };

/** Adds the parts of a gradient, which begins at column `column` of the parts, and stores it. */
export function storeGradient(
  call: Call,
  { span, parts, part, row }: PartSums,
  column: number,
  inputs: Heads,
  outputs: Heads,
  target: Span,
  { offset, inStride, outStride }: Place,
): void {
  const outs = outputs.count * outputs.width;
  const count = inputs.count * inputs.width * outs;
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  const heads = [inputs.width, padded(inputs.width), outs, outputs.width, padded(outputs.width)];
  call.dispatch(flatKernel("store_gradient"), workgroups, {
    0: call.numbers([parts, part, row, column, ...heads, offset, inStride, outStride, count], workgroups),
    1: span,
    2: target,
  });
}
