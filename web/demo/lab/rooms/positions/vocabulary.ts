import { graphemes } from "../../../model/graphemes.js";
import { matrix, product, type Matrix } from "../../shell/matrix.js";
import { randomNormal } from "../../shell/random.js";

/** The number of features of a word. */
export const DIM = 16;
/** The number of rows in the table of learned positions. */
export const PLACES = 128;
/** The most words that are shown. */
export const LONGEST = 12;

const WORD = /^[\p{L}\p{M}\p{N}]/u;

/** The words of a text in lower case. A punctuation mark or an emoji is a word of its own. */
export function splitText(text: string): string[] {
  const runs = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*|[^\s\p{L}\p{N}]+/gu) ?? [];
  return runs.flatMap((run) => (WORD.test(run) ? run : graphemes(run)));
}

/** The words that are shown: the first ones, or a stand-in if there is none. */
export function wordsOf(text: string): string[] {
  const words = splitText(text).slice(0, LONGEST);
  return words.length > 0 ? words : ["word"];
}

/** Equal words get equal vectors, and different words get different ones. */
export function embeddings(words: readonly string[]): Matrix {
  const rows = words.map((word) => randomNormal(seedOf(word), DIM));
  return matrix(words.length, DIM, (row, column) => rows[row]![column]!);
}

/** Random numbers in place of learned vectors: one for each position. */
export const learnedTable: Matrix = { rows: PLACES, columns: DIM, data: Array.from(randomNormal(77, PLACES * DIM)) };

const projection = (seed: number): Matrix => ({
  rows: DIM,
  columns: DIM,
  data: Array.from(randomNormal(seed, DIM * DIM), (value) => value / Math.sqrt(DIM)),
});
const [wq, wk] = [projection(5), projection(6)];

export function projected(x: Matrix): { readonly query: Matrix; readonly key: Matrix } {
  return { query: product(x, wq), key: product(x, wk) };
}

function seedOf(word: string): number {
  return [...word].reduce((seed, letter) => (seed * 31 + letter.codePointAt(0)!) % 1_000_003, 7);
}
