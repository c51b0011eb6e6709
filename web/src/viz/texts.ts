import { CallArguments } from "../read/callArguments.js";
import { argument } from "../read/options.js";
import type { Optional } from "../read/withDefaults.js";

/** What the elements say. Fixed words are strings; a text with values is a function that gives it. */
export interface VizTexts {
  /** The sign between the whole of a number and its decimals. Files with numbers always have a point. */
  readonly decimalSign: string;
  readonly percent: (number: string) => string;
  /** A share above 0 that is too small for a percentage. */
  readonly nearlyNothing: string;
  /** In place of a number that is NaN. */
  readonly notANumber: string;

  /** The names of elements that have no `label`, and of heads that have no name; heads are counted from 0. */
  readonly attention: string;
  readonly head: (head: number) => string;
  /** A token in a sentence, one without a letter, and tokens that are not given, by their positions from 0. */
  readonly token: (token: string) => string;
  readonly emptyToken: string;
  readonly query: (position: number) => string;
  readonly key: (position: number) => string;

  /** The read-out: without numbers, without a cell, and for a cell. `query` and `key` are named as above. */
  readonly empty: string;
  readonly hint: string;
  readonly cellHidden: (query: string, key: string) => string;
  readonly cellPending: (query: string, key: string) => string;
  readonly cellNotANumber: (query: string, key: string) => string;
  readonly cellScore: (query: string, key: string, score: string) => string;
  readonly cellWeight: (query: string, key: string, share: string) => string;
  /** The tooltip of a cell without a number. `hidden` stands in the legend too. */
  readonly hidden: string;
  readonly pending: string;

  /** The legend. */
  readonly axes: string;
  readonly rowMaximum: string;
  readonly unit: (unit: string) => string;
  readonly computed: (done: number, total: number) => string;

  /** The buttons above a map, with their tooltips. */
  readonly toolbar: string;
  readonly zoomOut: string;
  readonly zoomIn: string;
  readonly fit: string;
  readonly fitAll: string;
  readonly saveSVG: string;
  readonly savePNG: string;
  readonly saveCSV: string;

  /** For screen readers: the grid of a map, the pictures of the heads, the switches, and the columns of tokens. */
  readonly grid: (label: string, head: string) => string;
  readonly headChoice: string;
  readonly headSwitches: string;
  readonly queries: string;
  readonly keys: string;

  /** The tooltip of a head's switch, and the slider. */
  readonly headSwitch: string;
  readonly threshold: string;
  /** The read-out of links. `from` or `to` is "" if it is not named there: the sentence or the link names it. */
  readonly noLink: string;
  readonly links: (from: string, to: string, links: string) => string;
  readonly link: (from: string, to: string, share: string, head: string) => string;

  /** The description in an SVG file: each rectangle is a cell, or a block of so many queries and keys. */
  readonly svgCells: string;
  readonly svgBlocks: (queries: number, keys: number) => string;
}

const ENGLISH: VizTexts = {
  decimalSign: ".",
  percent: (number) => `${number}\u00a0%`,
  nearlyNothing: "less than 0.0001\u00a0%",
  notANumber: "not a number",

  attention: "Attention",
  head: (head) => `head ${head}`,
  token: (token) => `“${token}”`,
  emptyToken: "empty token",
  query: (position) => `query ${position}`,
  key: (position) => `key ${position}`,

  empty: "Nothing to show yet.",
  hint: "Point at a cell, tap it, or use the arrow keys. Click or Enter locks it.",
  cellHidden: (query, key) => `${query} may not attend to ${key}.`,
  cellPending: (query, key) => `${query} and ${key}: being computed.`,
  cellNotANumber: (query, key) => `${query} and ${key}: not a number.`,
  cellScore: (query, key, score) => `${query} scores ${key} with ${score}.`,
  cellWeight: (query, key, share) => `${query} gives ${share} of its attention to ${key}.`,
  hidden: "hidden",
  pending: "being computed",

  axes: "rows: queries, columns: keys",
  rowMaximum: "row maximum",
  unit: (unit) => `numbers: ${unit}`,
  computed: (done, total) => `computed ${done} of ${total} slices`,

  toolbar: "Map",
  zoomOut: "Zoom out",
  zoomIn: "Zoom in",
  fit: "Fit",
  fitAll: "Fit all of it",
  saveSVG: "Save the view as SVG",
  savePNG: "Save the view as PNG",
  saveCSV: "Save the numbers in view as CSV",

  grid: (label, head) => `${label}: ${head}, queries by keys`,
  headChoice: "Head",
  headSwitches: "Heads",
  queries: "Queries",
  keys: "Keys",

  headSwitch: "Switch on or off; with Shift or a double click, this one alone, and again all",
  threshold: "Hide links below",
  noLink: "No link is stronger than the threshold.",
  links: (from, to, links) => `Strongest links${from ? ` of ${from}` : to ? ` to ${to}` : ""}: ${links}.`,
  link: (from, to, share, head) => `${from && `from ${from} `}${to && `to ${to} `}${share} (${head})`,

  svgCells: "Each square is one cell.",
  svgBlocks: (queries, keys) => `Each rectangle is the strongest of ${queries} × ${keys} cells (queries × keys).`,
};

const NAMES = Object.keys(ENGLISH) as (keyof VizTexts)[];

let current = ENGLISH;
const listeners = new Set<() => void>();

/** What the elements say now. */
export function texts(): VizTexts {
  return current;
}

/**
 * Sets what all elements of the page say, for pages in other languages. Elements that are drawn are drawn again.
 *
 * @param given - Texts that replace the English ones. Those that are not given are in English; undefined: all.
 * @throws OptionError if a name is unknown, or if a text is not of its kind.
 */
export function setTexts(given?: Optional<VizTexts>): void {
  const option = argument(new CallArguments("setTexts"), "texts", given ?? undefined).object("texts", NAMES);
  const own = NAMES.filter((name) => option?.has(name)).map((name) => {
    if (typeof ENGLISH[name] === "function") return [name, option!.callback(name)];
    if (typeof option!.value(name) !== "string") throw option!.refuse(name, "be a string");
    return [name, option!.value(name)];
  });
  current = { ...ENGLISH, ...(Object.fromEntries(own) as Partial<VizTexts>) };
  for (const listener of listeners) listener();
}

/** Calls a function whenever the texts have changed. */
export function onTexts(listener: () => void): void {
  listeners.add(listener);
}

export function offTexts(listener: () => void): void {
  listeners.delete(listener);
}
