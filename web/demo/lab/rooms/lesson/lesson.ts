// What the lesson shows of a sentence, as functions of its anatomy.

import { SHOWN, type Anatomy, type LayerAnatomy } from "../../../model/anatomy.js";
import { tokenNames } from "../../../model/names.js";
import { repetitions, type Twins } from "../../../model/story.js";
import { knownWords, type Tokens } from "../../../model/writtenWords.js";
import type { Settings } from "./settings.js";

const HEADS_PER_LAYER = 4;

/** A sentence that was read with positions and without, and the word and the head that are looked at. */
export interface Lesson {
  readonly placed: Anatomy;
  readonly unplaced: Anatomy;
  /** Counted over both layers, from 0. */
  readonly head: number;
  /** The token that asks. */
  readonly word: number;
}

export function lessonOf(placed: Anatomy, unplaced: Anatomy, { head, word }: Pick<Settings, "head" | "word">): Lesson {
  const first = twinsOf(placed)?.[0] ?? knownWords(placed)[0] ?? firstWithSign(placed);
  const isThere = word >= 0 && word < placed.tokens.length;
  return { placed, unplaced, head, word: isThere ? word : first };
}

/** The first token that is not a space alone. */
function firstWithSign({ tokens }: Anatomy): number {
  return Math.max(0, tokens.findIndex((token) => token !== "▁")); // oxfmt-ignore
}

/** The longest known word that occurs twice: its first two places. */
export function twinsOf(anatomy: Tokens): Twins | undefined {
  const length = ([first]: Twins) => anatomy.tokens[first]!.length;
  return repetitions(anatomy).toSorted((a, b) => length(b) - length(a))[0];
}

export function namesOf({ placed }: Pick<Lesson, "placed">): string[] {
  return tokenNames(placed.tokens);
}

/** What the chosen head computes for the word that asks. */
export interface Asking {
  readonly query: Float32Array;
  readonly queryLength: number;
  /** One of each for each token. */
  readonly keys: readonly Float32Array[];
  readonly keyLengths: Float32Array;
  readonly scores: Float32Array;
  readonly weights: Float32Array;
  readonly values: readonly Float32Array[];
  /** The sum of weights times values. */
  readonly mix: Float32Array;
}

export function asking({ placed, head, word }: Lesson): Asking {
  const layer = layerOf(placed, head);
  const { tokens } = placed;
  const inLayer = head % HEADS_PER_LAYER;
  const own = inLayer * tokens.length;
  const rows = (data: Float32Array) => tokens.map((_, token) => shownRow(data, own + token));
  return {
    query: shownRow(layer.query, own + word),
    queryLength: layer.queryLength[own + word]!,
    keys: rows(layer.key),
    keyLengths: layer.keyLength.subarray(own, own + tokens.length),
    scores: mapRow(layer.scores, tokens.length, inLayer, word),
    weights: mapRow(layer.probs, tokens.length, inLayer, word),
    values: rows(layer.value),
    mix: shownRow(layer.mixed, own + word),
  };
}

/** Row `row` of the vectors of which only the beginning is shown. */
export function shownRow(data: Float32Array, row: number): Float32Array {
  return data.subarray(row * SHOWN, (row + 1) * SHOWN);
}

/** What a token gives each token, in a head of the layer. */
export function mapRow(map: Float32Array, tokens: number, inLayer: number, token: number): Float32Array {
  const at = (inLayer * tokens + token) * tokens;
  return map.subarray(at, at + tokens);
}

/** The layer of a head that is counted over both layers. */
export function layerOf({ layers }: Anatomy, head: number): LayerAnatomy {
  return layers[Math.floor(head / HEADS_PER_LAYER)]!;
}

/** The angle between the query and each key, in radians. It is in the score: |q| · |k| · cos / √headDim. */
export function angles(lesson: Lesson): number[] {
  const { scores, queryLength, keyLengths } = asking(lesson);
  const { headDim } = layerOf(lesson.placed, lesson.head);
  return Array.from(scores, (score, token) => {
    const cosine = (score * Math.sqrt(headDim)) / (queryLength * keyLengths[token]!);
    return Math.acos(Math.min(Math.max(cosine, -1), 1));
  });
}

/** The two tokens whose moves are compared: a word that occurs twice, or the one that asks and the one it looks at most. */
export function pairOf(lesson: Lesson): readonly [first: number, second: number] {
  const { placed, word } = lesson;
  const twins = twinsOf(placed);
  if (twins) return twins;
  const { weights } = asking(lesson);
  const others = placed.tokens.map((_, token) => token).filter((token) => token !== word);
  const most = others.reduce((best, token) => (weights[token]! > weights[best]! ? token : best), others[0] ?? word);
  return [word, most];
}

/** Vectors of a layer, by their inner products: each token before attention, then each token after it. */
export class Vectors {
  readonly #products: Float32Array;
  readonly #tokens: number;

  constructor(anatomy: Anatomy, head: number) {
    this.#products = layerOf(anatomy, head).products;
    this.#tokens = anatomy.tokens.length;
  }

  before(token: number): number {
    return token;
  }

  after(token: number): number {
    return this.#tokens + token;
  }

  product(a: number, b: number): number {
    return this.#products[a * 2 * this.#tokens + b]!;
  }

  distance(a: number, b: number): number {
    return Math.sqrt(Math.max(0, this.product(a, a) + this.product(b, b) - 2 * this.product(a, b)));
  }
}

/** How the pair stands and moves. */
export interface Moves {
  readonly before: number;
  readonly after: number;
  readonly moved: readonly [first: number, second: number];
}

export function movesOf(anatomy: Anatomy, head: number, [a, b]: readonly [number, number]): Moves {
  const vectors = new Vectors(anatomy, head);
  const moved = (token: number) => vectors.distance(vectors.before(token), vectors.after(token));
  return {
    before: vectors.distance(vectors.before(a), vectors.before(b)),
    after: vectors.distance(vectors.after(a), vectors.after(b)),
    moved: [moved(a), moved(b)],
  };
}

/** The share of each head of the chosen head's layer in the move of a token; with the bias they sum to 1. */
export function sharesOf({ placed, head }: Pick<Lesson, "placed" | "head">, token: number): number[] {
  const { numHeads, shares } = layerOf(placed, head);
  return Array.from({ length: numHeads }, (_, each) => shares[each * placed.tokens.length + token]!);
}

/** The weights of a token in each head of the chosen head's layer. */
export function rowsOfHeads({ head }: Pick<Lesson, "head">, anatomy: Anatomy, token: number): Float32Array[] {
  const { numHeads, probs } = layerOf(anatomy, head);
  return Array.from({ length: numHeads }, (_, each) => mapRow(probs, anatomy.tokens.length, each, token));
}

/** The weights of a token in the chosen head. */
export function weightsOf({ head }: Pick<Lesson, "head">, anatomy: Anatomy, token: number): Float32Array {
  return rowsOfHeads({ head }, anatomy, token)[head % HEADS_PER_LAYER]!;
}

/** The index of the largest number. */
export function largest(numbers: ArrayLike<number>): number {
  return Array.from(numbers).reduce((best, number, i, all) => (number > all[best]! ? i : best), 0);
}

export function smallest(numbers: ArrayLike<number>): number {
  return largest(Array.from(numbers, (number) => -number));
}
