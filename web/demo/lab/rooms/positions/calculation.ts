import { tokenNames } from "../../../model/names.js";
import { asTensor, at, matrix, type Matrix } from "../../shell/matrix.js";
import { handmadeWeights } from "./handmade.js";
import { FIRST, placed, placesTable, turned, type Computer, type PlacedKind, type Placing } from "./placing.js";
import type { Vector } from "./plane.js";
import { placingOf, type Settings } from "./settings.js";
import { DIM, embeddings, projected, wordsOf } from "./vocabulary.js";

/** How far the curve of scores goes to each side. */
export const REACH = 24;

/** Vectors of two words at one place: the words, the row that is added, and the sums. */
export interface Added {
  readonly place: number;
  readonly words: readonly [Matrix, Matrix];
  readonly row: Matrix;
  readonly sums: readonly [Matrix, Matrix];
}

/** A pair of features of a query and a key, before and after rotation, and the product of the two pairs. */
export interface Turned {
  readonly query: { readonly place: number; readonly before: Vector; readonly after: Vector };
  readonly key: { readonly place: number; readonly before: Vector; readonly after: Vector };
  /** Where the text has been moved to, and where it began. */
  readonly product: number;
  readonly productAtStart: number;
}

/** All numbers of the room. Weights are [words, words], row by row. */
export interface Calculation {
  readonly names: readonly string[];
  readonly plain: Float32Array;
  readonly placed: Float32Array;
  /** The same words, with positions that are `offset` higher. */
  readonly moved: Float32Array;
  /** By how much a weight changes at most when the text is moved, with each kind of positions. */
  readonly changes: Readonly<Record<PlacedKind, number>>;
  /** The score of the first word with itself at distances −REACH … REACH: where the text begins, and moved. */
  readonly curves: readonly [here: readonly number[], there: readonly number[]];
  readonly added: Added;
  /** The sinusoidal table. */
  readonly table: Matrix;
  readonly turned: Turned;
  /** The weights of the hand-made heads, [heads, words, words]. */
  readonly hands: Float32Array;
}

export async function calculate(computer: Computer, settings: Settings): Promise<Calculation> {
  const words = wordsOf(settings.words);
  const x = embeddings(words);
  const placing = placingOf(settings);
  const moved = FIRST + settings.offset;
  const change = async (kind: PlacedKind) => {
    const [here, there] = [await weights(computer, x, FIRST, { ...placing, kind }), await weights(computer, x, moved, { ...placing, kind })]; // oxfmt-ignore
    return here.reduce((most, weight, i) => Math.max(most, Math.abs(weight - there[i]!)), 0);
  };
  return {
    names: tokenNames(words),
    changes: {
      learned: await change("learned"),
      sinusoidal: await change("sinusoidal"),
      rotary: await change("rotary"),
    },
    plain: await weights(computer, x, FIRST, { ...placing, kind: "none" }),
    placed: await weights(computer, x, FIRST, placing),
    moved: await weights(computer, x, moved, placing),
    curves: [
      await scoreCurve(computer, words[0]!, FIRST, placing),
      await scoreCurve(computer, words[0]!, moved, placing),
    ],
    added: addedAt(x, settings),
    table: placesTable("sinusoidal", placing.base),
    turned: await turnedPair(computer, x, settings),
    hands: await handmadeWeights(computer, words.length, settings.sharpness),
  };
}

async function weights(computer: Computer, x: Matrix, start: number, placing: Placing): Promise<Float32Array> {
  const { query, key } = await placed(computer, x, start, placing);
  const returns = { output: false, probs: true } as const;
  return (await computer.scaledDotProductAttention(query, key, key, { returns })).probs.data;
}

async function scoreCurve(computer: Computer, word: string, start: number, placing: Placing): Promise<number[]> {
  const x = embeddings(Array.from({ length: 2 * REACH + 1 }, () => word));
  const { query, key } = await placed(computer, x, start, placing);
  const middle = { data: query.data.slice(REACH * DIM, (REACH + 1) * DIM), shape: [1, DIM] };
  const returns = { output: false, scores: "raw" } as const;
  return Array.from((await computer.scaledDotProductAttention(middle, key, key, { returns })).scores.data);
}

function addedAt(x: Matrix, { kind, base, offset, word, other }: Settings): Added {
  const place = FIRST + offset + word;
  const table = placesTable(kind === "learned" ? "learned" : "sinusoidal", 10 ** base);
  const rowOf = (m: Matrix, row: number) => matrix(1, DIM, (_, column) => at(m, row, column));
  const row = rowOf(table, place);
  const words = [rowOf(x, word), rowOf(x, other)] as const;
  const sum = (vector: Matrix) => matrix(1, DIM, (_, column) => at(vector, 0, column) + at(row, 0, column));
  return { place, words, row, sums: [sum(words[0]), sum(words[1])] };
}

async function turnedPair(computer: Computer, x: Matrix, settings: Settings): Promise<Turned> {
  const { query, key, pair } = settings;
  const { base } = placingOf(settings);
  const vectors = projected(x);
  const pairOf = (data: ArrayLike<number>, word: number): Vector => [
    data[word * DIM + pair]!,
    data[word * DIM + pair + DIM / 2]!,
  ];
  const pairsAt = async (start: number) => {
    const [q, k] = [
      await turned(computer, asTensor(vectors.query), start, base),
      await turned(computer, asTensor(vectors.key), start, base),
    ];
    return { query: pairOf(q.data, query), key: pairOf(k.data, key) };
  };
  const start = FIRST + settings.offset;
  const [here, there] = [await pairsAt(FIRST), await pairsAt(start)];
  return {
    query: { place: start + query, before: pairOf(vectors.query.data, query), after: there.query },
    key: { place: start + key, before: pairOf(vectors.key.data, key), after: there.key },
    product: dot(there.query, there.key),
    productAtStart: dot(here.query, here.key),
  };
}

const dot = ([a, b]: Vector, [c, d]: Vector) => a * c + b * d;
