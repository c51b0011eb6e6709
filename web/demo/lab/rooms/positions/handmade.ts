import { sinusoidalPositions } from "headwise";

import type { Floats } from "../../engine/floats.js";
import { at, matrix, product, type Matrix } from "../../shell/matrix.js";
import { FIRST, type Computer } from "./placing.js";
import { DIM } from "./vocabulary.js";

/** Heads whose weights are made by hand: they look one word back, at the first word, or at the word itself. */
export const HANDS = ["back", "first", "itself"] as const;
export type Hand = (typeof HANDS)[number];

/** The position vectors of a text of this many words, [words, DIM]. They are all that these heads know. */
function positions(words: number): Matrix {
  const table = sinusoidalPositions(FIRST + words, DIM).data.subarray(FIRST * DIM);
  return { rows: words, columns: DIM, data: Array.from(table) };
}

/**
 * The query projection that turns each pair of features (sine, cosine) back by one place, so that the query of a place
 * is the position vector of the place before it.
 */
function oneBack(): Matrix {
  const frequency = (pair: number) => 10_000 ** ((-2 * pair) / DIM);
  return matrix(DIM, DIM, (row, column) => {
    const pair = Math.floor(row / 2);
    if (Math.floor(column / 2) !== pair) return 0;
    if (row === column) return Math.cos(frequency(pair));
    return row < column ? Math.sin(frequency(pair)) : -Math.sin(frequency(pair));
  });
}

/** Queries, times the sharpness. Keys are the position vectors themselves. */
function queries(hand: Hand, p: Matrix): Matrix {
  if (hand === "back") return product(p, oneBack());
  return hand === "itself" ? p : matrix(p.rows, DIM, (_, column) => at(p, 0, column));
}

/** The call of headwise: one head for each of HANDS. */
export function handmadeCall(words: number, sharpness: number): { readonly query: Floats; readonly key: Floats } {
  const p = positions(words);
  const shape = [1, HANDS.length, words, DIM];
  const heads = HANDS.flatMap((hand) => queries(hand, p).data.map((value) => value * sharpness));
  const keys = HANDS.flatMap(() => p.data);
  return { query: { data: Float32Array.from(heads), shape }, key: { data: Float32Array.from(keys), shape } };
}

/** The weights of all three heads, [1, 3, words, words]. */
export async function handmadeWeights(computer: Computer, words: number, sharpness: number): Promise<Float32Array> {
  const { query, key } = handmadeCall(words, sharpness);
  const options = { returns: { output: false, probs: true } } as const;
  return (await computer.scaledDotProductAttention(query, key, key, options)).probs.data;
}

/** The word that a head looks at. The first word has none before it; its query is nearest to its own key. */
export function aimOf(hand: Hand, word: number): number {
  if (hand === "first") return 0;
  return hand === "itself" ? word : Math.max(word - 1, 0);
}
