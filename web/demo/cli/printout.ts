import type { Report } from "headwise";

import { MAX_TOKENS, type Encoding } from "../model/encoder.js";
import { headName, headsOf, rowOf } from "../model/heads.js";
import { linkInWords, percent, strongestLinks } from "../model/links.js";
import { printable, tokenNames } from "../model/names.js";
import { similarities, similarityText } from "../model/similarity.js";
import { largestRowDifference, positionsOf } from "../model/story.js";
import { heatmaps, strip, type HeatmapStyle } from "./heatmap.js";
import type { Palette } from "./palette.js";
import { cut, displayWidth, padded } from "./width.js";

/** The look of the printout: colours, and the width of the terminal in columns. */
export type Look = Omit<HeatmapStyle, "names">;

const LINKS_PER_HEAD = 3;

/** A sentence: its tokens, and every head of every layer as a heatmap and in words. */
export function sentenceLines(encoding: Encoding, milliseconds: number, look: Look): string[] {
  const { text, tokens, tokensLeftOut } = encoding;
  const names = tokenNames(tokens);
  const lines = [
    look.palette.strong(`“${printable(text)}”`),
    `${tokens.length} ${tokens.length === 1 ? "token" : "tokens"}: ${printable(tokens.join(" "))}   ${look.palette.quiet(`${milliseconds.toFixed(0)} ms`)}`,
  ];
  if (tokensLeftOut > 0) lines.push(`The model reads ${MAX_TOKENS} tokens; left out at the end: ${tokensLeftOut}.`);
  if (tokens.length === 0) return lines;

  encoding.layers.forEach((_, layer) => {
    const heads = headsOf(encoding).filter((head) => head.layer === layer);
    lines.push("", `Layer ${layer + 1}`, ...heatmaps(heads, { ...look, names }), "");
    for (const { head, probs } of heads) {
      const links = strongestLinks(probs, LINKS_PER_HEAD).map((link) => linkInWords(link, names));
      lines.push(`  head ${head + 1}: ${links.join(" · ")}`);
    }
  });
  return lines;
}

/** What positions do: the rows of a word that occurs twice, with positions and without. */
export function positionStory(placed: Encoding, unplaced: Encoding, word: string, look: Look): string[] {
  const [first, second] = positionsOf(placed, word);
  if (first === undefined || second === undefined) return [];
  const names = tokenNames(placed.tokens);
  const rows = (encoding: Encoding) =>
    headsOf(encoding).flatMap((head) => {
      const strongest = head.probs.reduce((most, prob) => Math.max(most, prob), 0);
      return [first, second].map((from) => strip(rowOf(head.probs, from), strongest, look.palette));
    });
  const [withPositions, without] = [rows(placed), rows(unplaced)];
  const labels = headsOf(placed).flatMap((head) => [
    `${padded(headName(head), 16)}${padded(names[first]!, 8)}`,
    `${padded("", 16)}${padded(names[second]!, 8)}`,
  ]);
  const width = 2 * names.length;
  return [
    look.palette.strong(`Does “${word}” know where it stands?`),
    `With positions the two rows differ by up to ${percent(largestRowDifference(placed, first, second))}; ` +
      `without, by ${largestRowDifference(unplaced, first, second)}: equal words then attend equally.`,
    "",
    `${" ".repeat(24)}${padded("positions on", width)}  positions off`,
    ...labels.map((label, i) => `${label}${withPositions[i]!}  ${without[i]!}`),
  ];
}

/** Attention is not symmetric: the scores of a pair of words in both directions. */
export function directionStory(encoding: Encoding, one: string, other: string, palette: Palette): string[] {
  const [i] = positionsOf(encoding, one);
  const [j] = positionsOf(encoding, other);
  if (i === undefined || j === undefined) return [];
  return [
    palette.strong(`Does “${one}” look at “${other}” as “${other}” looks at “${one}”?`),
    `Score q·k/√d before the softmax, and the share of attention it becomes:`,
    "",
    `${" ".repeat(16)}${padded(`${one} → ${other}`, 22)}${other} → ${one}`,
    ...headsOf(encoding).map((head) => {
      const cell = (from: number, to: number) =>
        `${rowOf(head.scores, from)[to]!.toFixed(2).padStart(6)}  ${percent(rowOf(head.probs, from)[to]!).padStart(5)}`;
      return `${padded(headName(head), 16)}${padded(cell(i, j), 22)}${cell(j, i)}`;
    }),
  ];
}

/** How similar the sentences are in meaning: 1 is the same, 0 is unrelated. */
export function similarityLines(encodings: readonly Encoding[], { palette, columns }: Look): string[] {
  const matrix = similarities(encodings.map(({ embedding }) => embedding));
  const numbers = matrix.map((_, i) => String(i + 1).padStart(8)).join("");
  return [
    palette.strong("Similarity of the sentences"),
    `   ${numbers}`,
    ...matrix.map((row, i) => {
      const cells = row.map((value) => ` ${palette.cell(value, 1)} ${similarityText(value).padStart(5)}`).join("");
      const room = columns - displayWidth(`   ${numbers}  `);
      return `${String(i + 1).padStart(3)}${cells}  ${cut(printable(encodings[i]!.text), room)}`;
    }),
  ];
}

/** Which engine computed it, and why not a faster one. */
export function reportLines(report: Report): string[] {
  const threads = `${report.threads} ${report.threads === 1 ? "thread" : "threads"}`;
  return [
    `headwise ${report.version}: ${report.backend}, variant ${report.variant}, ${threads}`,
    ...Object.entries(report.reasons).map(([what, why]) => `  ${what}: ${why}`),
  ];
}
