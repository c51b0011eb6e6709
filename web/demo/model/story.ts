import type { Encoding } from "./encoder.js";
import { headsOf, rowOf } from "./heads.js";

/**
 * The sentences shown when nobody asks for another. In the first, a word stands twice, with two meanings:
 * only its position tells one from the other. In the second, what "phone" asks of "RAM" is not what "RAM" asks of "phone".
 */
export const PARK = "They decided to park the car in the park.";
export const PHONE = "My phone has a RAM of 6GB";
export const DEFAULT_SENTENCES: readonly string[] = [PARK, PHONE];

/** The first token that stands more than once, at its first two places (from 0). */
export function firstRepetition({ tokens }: Encoding): readonly [first: number, second: number] | undefined {
  const first = tokens.findIndex((token, i) => tokens.indexOf(token, i + 1) > 0);
  return first < 0 ? undefined : [first, tokens.indexOf(tokens[first]!, first + 1)];
}

/** Where (from 0) a whole word stands. */
export function positionsOf({ tokens }: Encoding, word: string): number[] {
  return tokens.flatMap((token, i) => (token === `▁${word}` ? [i] : []));
}

/** The largest difference between what tokens a and b attend to, over every head. */
export function largestRowDifference(encoding: Encoding, a: number, b: number): number {
  const differences = headsOf(encoding).flatMap(({ probs }) => {
    const row_b = rowOf(probs, b);
    return Array.from(rowOf(probs, a), (prob, j) => Math.abs(prob - row_b[j]!));
  });
  return Math.max(...differences);
}
