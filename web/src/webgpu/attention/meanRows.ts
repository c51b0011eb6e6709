import type { Call } from "../call/call.js";
import { divideUp } from "../plan/limits.js";
import { stridesOf } from "../plan/strides.js";
import { numbersOf, type StridedRows } from "./moveRows.js";

/** A workgroup computes LANES features of a head; SLICES invocations share a feature. */
const MEANS = { LANES: 16, SLICES: 8 } as const;

export const MEAN_ROWS = { name: "mean_rows", constants: MEANS } as const;

/**
 * The means of rows of float32, for each of some heads. They repeat along batches and rows.
 *
 * @param rows - For each row its batch and its number.
 */
export function meanRows(
  call: Call,
  { span, strides }: StridedRows,
  rows: readonly number[],
  heads: readonly number[],
  width: number,
): StridedRows {
  const means = call.room(4 * heads.length * width);
  const tiles = divideUp(width, MEANS.LANES);
  const workgroups = heads.length * tiles;
  call.dispatch(MEAN_ROWS, workgroups, {
    0: call.numbers([...numbersOf(strides), width, rows.length / 2, heads.length, tiles], workgroups),
    1: span,
    2: call.table(Uint32Array.from([...rows, ...heads])),
    3: means,
  });
  return {
    span: means,
    strides: { ...stridesOf("BHSD", heads.length, 1, width), batch: 0, position: 0 },
    dtype: "float32",
  };
}
