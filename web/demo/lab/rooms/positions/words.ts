import { matrix, product, type Matrix } from "../../shell/matrix.js";
import { randomNormal } from "../../shell/random.js";

/** The number of features of a word. */
export const DIM = 16;
/** The number of rows in the table of learned positions. */
export const PLACES = 128;
const LONGEST = 12;

export function wordsOf(text: string): string[] {
  const words = text.trim().split(/\s+/).slice(0, LONGEST);
  return words[0] === "" ? ["word"] : words;
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
  return [...word.toLowerCase()].reduce((seed, letter) => (seed * 31 + letter.codePointAt(0)!) % 1_000_003, 7);
}
