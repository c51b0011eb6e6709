import type { HiddenRule } from "./visibility.js";

/** The indices from `from` to `to − 1`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The value of a hidden score. */
export const HIDDEN = -Infinity;

/** A value for each axis of a map: rows are queries, columns are keys. */
export interface ByAxis<T> {
  readonly rows: T;
  readonly columns: T;
}

/** Reads a row of numbers; undefined if the row has not arrived. */
export type Rows = (index: number) => ArrayLike<number> | undefined;

/** Whether a number replaces another one as the value of a block: it is larger, or farther from zero. */
export type Stronger = (candidate: number, than: number) => boolean;

export const larger: Stronger = (candidate, than) => candidate > than;
export const fartherFromZero: Stronger = (candidate, than) =>
  than === -Infinity || Math.abs(candidate) > Math.abs(than);

/** Blocks of cells. The value of a block is its strongest cell: −∞ if all are hidden, NaN if one is NaN. */
export interface Bins {
  /** The cells in the blocks: the part asked for, widened to whole blocks. */
  readonly cells: ByAxis<Span>;
  readonly across: number;
  readonly down: number;
  readonly values: Float32Array;
  /** 1 for a row of blocks whose cells have all arrived. */
  readonly known: Uint8Array;
}

export interface BinRule {
  readonly stronger: Stronger;
  readonly isHidden: ((row: number, column: number) => boolean) | undefined;
  /** The number by which a row's numbers are divided. Default 1. */
  readonly unitOf?: ((row: number) => number) | undefined;
}

/** The rule for one head. */
export function ofHead(rule: HiddenRule | undefined, head: number): BinRule["isHidden"] {
  return rule && ((query, key) => rule(query, key, head));
}

/**
 * Reduces a part of a grid to blocks. Block borders are counted from cell 0, so a moved view has the same blocks.
 *
 * @param extents - Rows and columns of the grid; the blocks end there.
 * @param block - Rows and columns of a block, in cells.
 */
export function bin(
  rowOf: Rows,
  extents: ByAxis<number>,
  part: ByAxis<Span>,
  block: ByAxis<number>,
  { stronger, isHidden, unitOf }: BinRule,
): Bins {
  const rows = widened(part.rows, block.rows, extents.rows);
  const columns = widened(part.columns, block.columns, extents.columns);
  const across = Math.ceil((columns.to - columns.from) / block.columns);
  const down = Math.ceil((rows.to - rows.from) / block.rows);
  const values = new Float32Array(across * down).fill(HIDDEN);
  const known = new Uint8Array(down).fill(1);
  for (let i = rows.from; i < rows.to; ++i) {
    const y = Math.floor((i - rows.from) / block.rows);
    const row = rowOf(i);
    if (!row) {
      known[y] = 0;
      continue;
    }
    const unit = unitOf?.(i) ?? 1;
    for (let x = 0, j = columns.from; x < across; ++x) {
      const end = Math.min(columns.from + (x + 1) * block.columns, columns.to);
      let most = values[y * across + x]!;
      for (; j < end; ++j) {
        const value = row[j]! / unit;
        if (value === HIDDEN || isHidden?.(i, j)) continue;
        // NaN is the only value that differs from itself, and no other value is stronger
        if (stronger(value, most) || value !== value) most = value;
      }
      values[y * across + x] = most;
    }
  }
  return { cells: { rows, columns }, across, down, values, known };
}

function widened({ from, to }: Span, block: number, end: number): Span {
  return { from: Math.floor(from / block) * block, to: Math.min(Math.ceil(to / block) * block, end) };
}
