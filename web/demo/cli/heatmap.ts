import type { Head } from "../model/heads.js";
import type { Palette } from "./palette.js";
import { padded, displayWidth } from "./width.js";

/** The most cells that fit a terminal. In longer sentences a cell stands for several tokens. */
const MAX_CELLS = 32;
const GAP = 2;

/** The style of all heatmaps of a sentence. */
export interface HeatmapStyle {
  readonly names: readonly string[];
  readonly palette: Palette;
  /** Width of the terminal, in columns. */
  readonly columns: number;
}

/**
 * The heads of one layer, as many side by side as fit. Rows are the tokens that attend, columns the tokens that are
 * attended to. Colours run from 0 to the strongest link of the head.
 */
export function heatmaps(heads: readonly Head[], style: HeatmapStyle): string[] {
  const tokensPerCell = Math.ceil(style.names.length / MAX_CELLS);
  const labels = rowLabels(style.names, tokensPerCell);
  const labelWidth = Math.max(0, ...labels.map(displayWidth)) + GAP;
  const room = style.columns - labelWidth;
  const cellWidth = heads.length * (2 * labels.length + GAP) <= room ? 2 : 1;
  const mapWidth = Math.max(cellWidth * labels.length, "head 1".length) + GAP;
  const perLine = Math.max(1, Math.floor(room / mapWidth));

  const lines: string[] = [];
  for (let first = 0; first < heads.length; first += perLine) {
    const shown = heads.slice(first, first + perLine);
    const blank = " ".repeat(labelWidth);
    const titles = shown.map(({ head }) => padded(`head ${head + 1}`, mapWidth)).join("");
    const digits = padded(labels.map((_, i) => padded(String((i + 1) % 10), cellWidth)).join(""), mapWidth);
    if (lines.length > 0) lines.push("");
    lines.push(
      blank + style.palette.strong(titles.trimEnd()),
      blank + style.palette.quiet(digits.repeat(shown.length).trimEnd()),
    );

    const maps = shown.map(({ probs }) => cells(probs, tokensPerCell));
    const gap = " ".repeat(mapWidth - cellWidth * labels.length);
    labels.forEach((label, row) => {
      const rows = maps.map((map) => map[row]!.map((share) => style.palette.cell(share, cellWidth)).join(""));
      lines.push(padded(label, labelWidth) + rows.join(gap));
    });
  }
  return lines;
}

/** One row of one head, on one line. */
export function strip(row: Float32Array, strongest: number, palette: Palette): string {
  return Array.from(row, (prob) => palette.cell(prob / strongest, 2)).join("");
}

/** The head's map, as shares of its strongest link. A cell of several tokens shows the strongest of their links. */
function cells(probs: Float32Array, tokensPerCell: number): number[][] {
  const tokens = Math.sqrt(probs.length);
  const size = Math.ceil(tokens / tokensPerCell);
  const map = Array.from({ length: size }, () => new Array<number>(size).fill(0));
  const strongest = probs.reduce((most, prob) => Math.max(most, prob), 0);
  probs.forEach((prob, i) => {
    const row = map[Math.floor(Math.floor(i / tokens) / tokensPerCell)]!;
    const column = Math.floor((i % tokens) / tokensPerCell);
    row[column] = Math.max(row[column]!, prob / strongest);
  });
  return map;
}

function rowLabels(names: readonly string[], tokensPerCell: number): string[] {
  const size = Math.ceil(names.length / tokensPerCell);
  return Array.from({ length: size }, (_, i) => {
    const name = names[i * tokensPerCell]!;
    return `${String(i + 1).padStart(String(size).length)} ${name}${tokensPerCell > 1 ? " …" : ""}`;
  });
}
