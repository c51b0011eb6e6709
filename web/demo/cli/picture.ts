import { type Encoding } from "../model/encoder.js";
import { headName, headsOf, rowOf, type Head } from "../model/heads.js";
import { asMarkup, printable, tokenNames } from "../model/names.js";
import { viridis } from "../model/viridis.js";

/** In units of the picture, which can have any size. */
const MAP = 160;
const GAP = 18;
const ROW_LABELS = 72;
const COLUMN_LABELS = 58;
const TITLE = 22;

/**
 * All heads of a sentence as an SVG picture: one row of maps for each layer, with tokens on both axes. It has a dark
 * theme too.
 */
export function headsPicture(encoding: Encoding): string {
  const names = tokenNames(encoding.tokens).map(asMarkup);
  const cell = MAP / Math.max(names.length, 1);
  const fontSize = Math.min(12, cell * 0.9).toFixed(1);
  const headsPerLayer = Math.max(...encoding.layers.map(({ numHeads }) => numHeads));
  const layerHeight = TITLE + COLUMN_LABELS + MAP + GAP;
  const width = ROW_LABELS + headsPerLayer * (MAP + GAP);
  const height = encoding.layers.length * layerHeight;

  const maps = headsOf(encoding).map((head) => {
    const x = ROW_LABELS + head.head * (MAP + GAP);
    const y = head.layer * layerHeight + TITLE + COLUMN_LABELS;
    const title = `<text x="${MAP / 2}" y="${-COLUMN_LABELS - 8}" text-anchor="middle" class="title">${headName(head)}</text>`;
    const columns = names.map((name, to) => {
      const at = `${((to + 0.7) * cell).toFixed(1)} -5`;
      return `<text transform="translate(${at}) rotate(-60)">${name}</text>`;
    });
    const rows = names.map((name, from) => {
      const at = `x="-6" y="${((from + 0.7) * cell).toFixed(1)}"`;
      return `<text ${at} text-anchor="end">${name}</text>`;
    });
    const labels = head.head === 0 ? [...columns, ...rows] : columns;
    return `<g transform="translate(${x} ${y})">${title}${labels.join("")}<g transform="scale(${cell})">${cells(head)}</g></g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="system-ui, sans-serif" font-size="${fontSize}">`,
    `<title>What each head attends to in “${asMarkup(printable(encoding.text))}”</title>`,
    `<style>text{fill:#555}.title{fill:#222;font-size:13px;font-weight:600}`,
    `@media(prefers-color-scheme:dark){text{fill:#aaa}.title{fill:#eee}}</style>`,
    ...maps,
    `</svg>\n`,
  ].join("\n");
}

/** One unit square for each pair of tokens. Colours run from 0 to the head's strongest link. */
function cells({ probs }: Head): string {
  const strongest = probs.reduce((most, prob) => Math.max(most, prob), 0);
  const tokens = Math.sqrt(probs.length);
  const squares: string[] = [];
  for (let from = 0; from < tokens; from++) {
    rowOf(probs, from).forEach((prob, to) => {
      squares.push(`<path fill="${hex(viridis(prob / strongest))}" d="M${to} ${from}h.97v.97h-.97z"/>`);
    });
  }
  return squares.join("");
}

function hex(colour: readonly number[]): string {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
