// What attention does with each token of a sentence, in the numbers that a picture needs: the first numbers of the
// vectors, and lengths and products of the whole vectors. Angles, distances and planes follow from the products.

import type { Encoding } from "./encoder.js";
import type { LayerAttention, LayerInside } from "./transformerLayer.js";

/** How many numbers of a vector are shown. */
export const SHOWN = 12;

export interface Anatomy {
  readonly text: string;
  readonly tokens: readonly string[];
  readonly unknown: readonly number[];
  readonly tokensLeftOut: number;
  /** The first numbers of what the first layer gets, [tokens, SHOWN]: the word alone, and with its place. */
  readonly words: Float32Array;
  readonly placed: Float32Array;
  readonly layers: readonly LayerAnatomy[];
}

/** Lengths and products are those of the whole vectors. */
export interface LayerAnatomy {
  readonly numHeads: number;
  readonly headDim: number;
  /** [numHeads, tokens, tokens] */
  readonly probs: Float32Array;
  readonly scores: Float32Array;
  /** The first numbers of each vector, [numHeads, tokens, SHOWN]. `mixed` is the sum of weights times values. */
  readonly query: Float32Array;
  readonly key: Float32Array;
  readonly value: Float32Array;
  readonly mixed: Float32Array;
  /** [numHeads, tokens] */
  readonly queryLength: Float32Array;
  readonly keyLength: Float32Array;
  /** How much of a token's move is made by each head, along the move: [numHeads, tokens]. With the bias they sum to 1. */
  readonly shares: Float32Array;
  /** Inner products [2 · tokens, 2 · tokens] of the tokens' vectors before attention, then after it. */
  readonly products: Float32Array;
}

/** The anatomy of an encoding that has its inside. */
export function anatomyOf({ text, tokens, unknown, tokensLeftOut, inputs, layers }: Encoding): Anatomy {
  return {
    ...{ text, tokens, unknown, tokensLeftOut },
    words: beginnings(inputs!.words, tokens.length),
    placed: beginnings(inputs!.placed, tokens.length),
    layers: layers.map((layer) => layerAnatomy(layer, layer.inside!, tokens.length)),
  };
}

function layerAnatomy({ numHeads, probs, scores }: LayerAttention, inside: LayerInside, tokens: number): LayerAnatomy {
  const rows = numHeads * tokens;
  const { query, key, value, headOutputs } = inside;
  return {
    ...{ numHeads, headDim: rows === 0 ? 0 : query.length / rows, probs, scores },
    query: beginnings(query, rows),
    key: beginnings(key, rows),
    value: beginnings(value, rows),
    mixed: beginnings(headOutputs, rows),
    queryLength: lengths(query, rows),
    keyLength: lengths(key, rows),
    shares: sharesOf(inside, numHeads, tokens),
    products: productsOf([...rowsOf(inside.before, tokens), ...rowsOf(inside.after, tokens)]),
  };
}

function rowsOf(data: Float32Array, rows: number): Float32Array[] {
  const width = rows === 0 ? 0 : data.length / rows;
  return Array.from({ length: rows }, (_, row) => data.subarray(row * width, (row + 1) * width));
}

function beginnings(data: Float32Array, rows: number): Float32Array {
  return Float32Array.from(rowsOf(data, rows).flatMap((row) => [...row.subarray(0, SHOWN)]));
}

function lengths(data: Float32Array, rows: number): Float32Array {
  return Float32Array.from(rowsOf(data, rows), (row) => Math.sqrt(product(row, row)));
}

function sharesOf({ contributions, before, after }: LayerInside, numHeads: number, tokens: number): Float32Array {
  const [from, to] = [rowsOf(before, tokens), rowsOf(after, tokens)];
  const moves = to.map((row, token) => row.map((number, i) => number - from[token]![i]!));
  return Float32Array.from(rowsOf(contributions, numHeads * tokens), (part, row) => {
    const move = moves[row % tokens]!;
    return product(part, move) / product(move, move);
  });
}

function productsOf(rows: readonly Float32Array[]): Float32Array {
  return Float32Array.from(rows.flatMap((a) => rows.map((b) => product(a, b))));
}

function product(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, number, i) => sum + number * b[i]!, 0);
}
