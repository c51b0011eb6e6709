import type { Call, Span } from "../call/call.js";
import type { StoredDtype } from "../kernels/kernel.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";
import type { Strides } from "../plan/strides.js";

/** Numbers in memory, [B, heads, rows, width] by their strides. */
export interface StridedRows {
  readonly span: Span;
  readonly strides: Strides;
  readonly dtype: StoredDtype;
  /** The first word of the scales of int8 rows. */
  readonly firstScale?: number | undefined;
  /** The first word of the means that were subtracted from int8 rows, [B, heads, row]; undefined if there are none. */
  readonly firstMean?: number | undefined;
}

/** Rows of heads inside of a call, [B, heads, rows, width]. */
export interface HeadArray extends StridedRows {
  readonly extents: readonly [batch: number, heads: number, rows: number, width: number];
  /** Where row r of a batch lies; undefined if the batch does not have it. Default: row r lies at r. */
  readonly placeOf?: (batch: number, row: number) => number | undefined;
}

/** A row that the source does not have. Its copy is 0. */
export const NOWHERE = 0xffffffff;

/** Which rows and heads are copied. */
export interface Moves {
  /** For each row its batch, its number in the source, and its number in the copy. */
  readonly rows: readonly number[];
  /** For each head its number in the source and its number in the copy. */
  readonly heads: readonly number[];
}

/** Copies rows of heads into an array of float32. */
export function moveRows(
  call: Call,
  from: StridedRows,
  to: Pick<StridedRows, "span" | "strides">,
  { rows, heads }: Moves,
  width: number,
): void {
  const count = (rows.length / 3) * (heads.length / 2) * width;
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  const sizes = [heads.length / 2, width, rows.length, count, from.strides.position];
  const int8 = [from.firstScale ?? 0, from.firstMean ?? 0];
  const kernel = flatKernel("move_rows", { HALF: from.dtype === "float16", INT8: from.dtype === "int8" });
  call.dispatch(kernel, workgroups, {
    0: call.numbers([...numbersOf(from.strides), ...numbersOf(to.strides), ...sizes, ...int8], workgroups),
    1: from.span,
    2: call.table(Uint32Array.from([...rows, ...heads])),
    3: to.span,
  });
}

/** Strides in the order of the kernels. */
export function numbersOf({ batch, head, position, feature }: Strides): number[] {
  return [batch, head, position, feature];
}
