import type { Encoding } from "./encoder.js";
import { headsOf, rowOf } from "./heads.js";
import { knownWords, type Tokens } from "./writtenWords.js";

/**
 * The default sentences. In the first one a word occurs twice with two meanings, and only its position tells them
 * apart. In the second one, the attention of "phone" to "RAM" differs from that of "RAM" to "phone".
 */
export const PARK = "They decided to park the car in the park.";
export const PHONE = "My phone has a RAM of 6GB";
export const DEFAULT_SENTENCES: readonly string[] = [PARK, PHONE];
/** The sentences of the lab when it opens. The third one is similar in meaning to the first. */
export const FIRST_SENTENCES: readonly string[] = [...DEFAULT_SENTENCES, "We left the vehicle near the playground."];

/** Two places of a word. */
export type Twins = readonly [first: number, second: number];

/** The first two occurrences of each known word that occurs more than once. */
export function repetitions(encoding: Tokens): Twins[] {
  const { tokens } = encoding;
  const words = knownWords(encoding);
  return words.flatMap((first, at) => {
    const isSame = (other: number) => tokens[other] === tokens[first];
    const second = words.slice(at + 1).find(isSame);
    return second === undefined || words.slice(0, at).some(isSame) ? [] : [[first, second] as const];
  });
}

/** The first of these repetitions. */
export function firstRepetition(encoding: Tokens): Twins | undefined {
  return repetitions(encoding)[0];
}

/** The indices at which a whole word occurs. */
export function positionsOf({ tokens }: Encoding, word: string): number[] {
  return tokens.flatMap((token, i) => (token === `▁${word}` ? [i] : []));
}

/** The largest difference between the attention of token a and that of token b, over all heads. */
export function largestRowDifference(encoding: Encoding, a: number, b: number): number {
  return headsOf(encoding).reduce((most, { probs }) => Math.max(most, rowDifference(probs, a, b)), 0);
}

/** The largest difference between rows a and b of a square map. */
export function rowDifference(map: Float32Array, a: number, b: number): number {
  const row_b = rowOf(map, b);
  return rowOf(map, a).reduce((most, prob, j) => Math.max(most, Math.abs(prob - row_b[j]!)), 0);
}

/**
 * The head that tells most about two equal tokens: it attends to the most different other words for them. What they
 * give to each other and to themselves does not count.
 */
export function tellingHead(encoding: Encoding, a: number, b: number): number {
  const differences = headsOf(encoding).map(({ probs }) => {
    const row_b = rowOf(probs, b);
    return rowOf(probs, a).reduce((sum, prob, j) => sum + (j === a || j === b ? 0 : Math.abs(prob - row_b[j]!)), 0);
  });
  return differences.reduce((most, difference, head) => (difference > differences[most]! ? head : most), 0);
}
