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

/** The largest share of the element's width that a label may take, and its limits in CSS pixels. */
const SHARE = 0.22;
const NARROWEST = 28;
const WIDEST = 120;

/** How many labels of an axis are measured. These are enough to size the space for labels. */
const MEASURED = 1000;

/** The angle of turned labels: steep enough for narrow cells, flat enough to be read. */
const TURN = -Math.PI / 3.4;

/** The signs of a text as people see them: an emoji of several characters is one. Firefox before 125 cannot say it. */
function graphemes(text: string): string[] {
  if (!("Segmenter" in Intl)) return Array.from(text);
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

let segmenter: Intl.Segmenter | undefined;

/** A token as a label: white space and the empty token are made visible, and long tokens are cut. */
export function labelText(token: string): string {
  if (token === "") return "∅";
  const letters = graphemes(token.replaceAll("\n", "⏎").replace(/^\s+/, "␣"));
  return letters.length > MAX_LETTERS ? `${letters.slice(0, MAX_LETTERS - 1).join("")}…` : letters.join("");
}

export function labelOf(tokens: readonly string[], cell: number): string {
  const token = tokens[cell];
  return token === undefined ? String(cell) : labelText(token);
}

/** The widest label in an element of this width. */
export function widestLabel(room: number): number {
  return Math.min(Math.max(SHARE * room, NARROWEST), WIDEST);
}

/** A text that is cut, with an ellipsis, until it is not wider than `most`. At least one letter stays. */
export function shortened(text: string, most: number, widthOf: (text: string) => number): string {
  const letters = graphemes(text.replace(/…$/, ""));
  let shown = text;
  while (widthOf(shown) > most && letters.length > 1) {
    letters.pop();
    shown = `${letters.join("")}…`;
  }
  return shown;
}

/** The texts beside an axis: tokens, cut to a width; positions where tokens are missing. */
export class AxisTexts {
  constructor(
    readonly tokens: readonly string[],
    readonly cells: number,
    readonly most: number,
    readonly widthOf: (text: string) => number,
  ) {}

  get areTokens(): boolean {
    return this.tokens.length > 0;
  }

  of(cell: number): string {
    const text = labelOf(this.tokens, cell);
    return this.tokens[cell] === undefined ? text : shortened(text, this.most, this.widthOf);
  }

  /** The width of the widest text. */
  get widest(): number {
    const last = Math.max(this.cells - 1, 0);
    const count = this.areTokens ? Math.min(this.cells, MEASURED) : 0;
    const texts = Array.from({ length: count }, (_, cell) => this.of(cell));
    if (this.tokens.length < this.cells) texts.push(String(last));
    return Math.max(0, ...texts.map(this.widthOf));
  }
}

/**
 * The rotation of the labels of columns. They are flat if the widest fits its cell, or if they are positions. Otherwise
 * they are turned.
 */
export function turnFor(widest: number, cell: number, areTokens: boolean): number {
  return areTokens && widest + GAP > cell ? TURN : 0;
}

/** How far the widest label may reach beyond the last column. */
export function overhang(widest: number, cell: number, turn: number): number {
  const beyond = turn === 0 ? (widest - cell) / 2 : Math.cos(turn) * widest + LINE / 2 - cell / 2;
  return Math.ceil(Math.max(0, beyond));
}

/** The space that labels need above the plot. */
export function headroom(widest: number, turn: number): number {
  return Math.ceil(turn ? Math.sin(-turn) * widest + LINE : LINE) + GAP;
}

/** The space that labels need to the left of the plot. */
export function sideroom(widest: number): number {
  return Math.ceil(Math.max(LABEL_SIZE, widest)) + 2 * GAP;
}

/** Which cells of an axis have a label, and its text. */
export function axisLabels(labels: AxisTexts, sight: Span, size: number, turn: number, isRow: boolean): AxisLabels {
  const room = isRow ? (labels.areTokens ? LINE : 2 * LINE) : turn ? LINE * 1.1 : longestNumber(labels, sight);
  return { texts: thinned(sight, size, room).map((cell) => ({ cell, text: labels.of(cell) })), turn };
}

/**
 * The pixels that the longest position needs; 0 if there are tokens, whose flat labels fit their cells (see `turnFor`).
 */
function longestNumber({ areTokens }: AxisTexts, sight: Span): number {
  return areTokens ? 0 : String(Math.ceil(sight.to)).length * 0.62 * LABEL_SIZE + 2 * GAP;
}

/** Where on its axis a label is anchored: the middle of its cell; undefined if that is not visible. */
export function anchorOf(cell: number, sight: Span, size: number): number | undefined {
  const middle = pixelOf(cell + 0.5, sight, size);
  return middle >= 0 && middle <= size ? middle : undefined;
}

export { GAP as LABEL_GAP };
