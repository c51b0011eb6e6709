import type { Bins, ByAxis } from "./bins.js";
import { colourOf, inkOn, type ColourTable, type Kind } from "./colours.js";
import { written } from "./words.js";

/** A number in its cell. `ink` is black or white. */
export interface CellNumber {
  readonly row: number;
  readonly column: number;
  readonly text: string;
  readonly ink: string;
}

/** The numbers in the cells in sight, and the size of their letters in CSS pixels. */
export interface CellNumbers {
  readonly size: number;
  readonly items: readonly CellNumber[];
}

/** The smallest and largest letters. */
const SMALLEST = 9;
const LARGEST = 12;

/** The space around a number, and the height of a line, in letter sizes. */
const MARGIN = 4;
const LINE = 1.3;

/** A number for a cell, which has no room for more: a probability in whole percents, a score with two decimals. */
export function brief(value: number, kind: Kind): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = kind === "probs" ? (100 * value).toFixed(0) : value.toFixed(2);
  return written(Number(text) === 0 ? text.replace("-", "") : text);
}

/**
 * The numbers of single cells, all in one size; undefined if the widest of them does not fit.
 *
 * @param bins - Blocks of one cell each.
 * @param valueOf - The exact number of a cell.
 * @param widthOf - The width of a text in letters of size 1.
 */
export function cellNumbers(
  bins: Bins,
  cell: { readonly width: number; readonly height: number },
  kind: Kind,
  table: ColourTable,
  valueOf: (row: number, column: number) => number | undefined,
  widthOf: (text: string) => number,
): CellNumbers | undefined {
  const room = { width: cell.width - MARGIN, height: cell.height / LINE };
  if (Math.min(room.width, room.height) < SMALLEST) return undefined;
  const items = numbersOf(bins, kind, table, valueOf);
  const widest = Math.max(...items.map(({ text }) => widthOf(text)), 0);
  const size = Math.min(LARGEST, room.height, room.width / Math.max(widest, Number.MIN_VALUE));
  return size < SMALLEST || items.length === 0 ? undefined : { size, items };
}

function numbersOf(
  { cells, across, known, values }: Bins,
  kind: Kind,
  table: ColourTable,
  valueOf: (row: number, column: number) => number | undefined,
): CellNumber[] {
  const { rows, columns }: ByAxis<{ readonly from: number }> = cells;
  return Array.from(values).flatMap((shade, i) => {
    const [y, x] = [Math.floor(i / across), i % across];
    const value = valueOf(rows.from + y, columns.from + x);
    if (shade === -Infinity || !known[y] || value === undefined) return [];
    const ink = inkOn(colourOf(shade, table));
    return [{ row: rows.from + y, column: columns.from + x, text: brief(value, kind), ink }];
  });
}
