import { pixelOf, thinned } from "./axis.js";
import type { Span } from "./bins.js";

/** How the labels of an axis are drawn, in CSS pixels. */
export interface AxisLabels {
  readonly texts: readonly { readonly cell: number; readonly text: string }[];
  /** The rotation of the labels of columns, in radians: 0, or upwards to the right. */
  readonly turn: number;
}

export const LABEL_SIZE = 12;
const LINE = 15;
const GAP = 6;
const MAX_LETTERS = 14;

/** The angle of turned labels: steep enough for narrow cells, flat enough to be read. */
const TURN = -Math.PI / 3.4;

/** A token as a label: white space is made visible, and long tokens are cut. */
export function labelText(token: string): string {
  const shown = token.replaceAll("\n", "⏎").replace(/^\s+/, "␣");
  return shown.length > MAX_LETTERS ? `${shown.slice(0, MAX_LETTERS - 1)}…` : shown;
}

export function labelOf(tokens: readonly string[], cell: number): string {
  const token = tokens[cell];
  return token === undefined ? String(cell) : labelText(token);
}

/** The widths of the labels, of at most a thousand of them. These are enough to size the space for labels. */
export function labelWidths(tokens: readonly string[], cells: number, widthOf: (text: string) => number): number[] {
  return tokens.length > 0
    ? tokens.slice(0, 1000).map(labelText).map(widthOf)
    : [widthOf(String(Math.max(cells - 1, 0)))];
}

/**
 * The rotation of the labels of columns. They are flat if the widest fits its cell, or if they are positions. Otherwise
 * they are turned.
 */
export function turnFor(widths: readonly number[], cell: number, areTokens: boolean): number {
  return areTokens && Math.max(0, ...widths) + GAP > cell ? TURN : 0;
}

/** How far the labels of columns reach beyond the last column. */
export function overhang(widths: readonly number[], columns: number, cell: number, turn: number): number {
  if (turn === 0) return Math.ceil(Math.max(0, (widths.at(-1) ?? 0) - cell) / 2);
  const beyond = widths.map((width, column) => Math.cos(turn) * width + LINE / 2 - (columns - column - 0.5) * cell);
  return Math.ceil(Math.max(0, ...beyond));
}

/** The space that labels need above the plot. */
export function headroom(widths: readonly number[], turn: number): number {
  return Math.ceil(turn ? Math.sin(-turn) * Math.max(0, ...widths) + LINE : LINE) + GAP;
}

/** The space that labels need to the left of the plot. */
export function sideroom(widths: readonly number[]): number {
  return Math.ceil(Math.max(LABEL_SIZE, ...widths)) + 2 * GAP;
}

/** Which cells of an axis have a label, and its text. */
export function axisLabels(
  tokens: readonly string[],
  sight: Span,
  size: number,
  turn: number,
  isRow: boolean,
): AxisLabels {
  const room = isRow ? (tokens.length > 0 ? LINE : 2 * LINE) : turn ? LINE * 1.1 : longestNumber(tokens, sight);
  return { texts: thinned(sight, size, room).map((cell) => ({ cell, text: labelOf(tokens, cell) })), turn };
}

/**
 * The pixels that the longest position needs; 0 if there are tokens, whose flat labels fit their cells (see `turnFor`).
 */
function longestNumber(tokens: readonly string[], sight: Span): number {
  return tokens.length > 0 ? 0 : String(Math.ceil(sight.to)).length * 0.62 * LABEL_SIZE + 2 * GAP;
}

/** Where on its axis a label is anchored: the middle of its cell; undefined if that is not visible. */
export function anchorOf(cell: number, sight: Span, size: number): number | undefined {
  const middle = pixelOf(cell + 0.5, sight, size);
  return middle >= 0 && middle <= size ? middle : undefined;
}

export { GAP as LABEL_GAP };
