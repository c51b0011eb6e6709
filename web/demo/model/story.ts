import type { Encoding } from "./encoder.js";
import { headsOf, rowOf } from "./heads.js";

/**
 * The default sentences. In the first one a word occurs twice with two meanings, and only its position tells them
 * apart. In the second one, the attention of "phone" to "RAM" differs from that of "RAM" to "phone".
 */
export const PARK = "They decided to park the car in the park.";
export const PHONE = "My phone has a RAM of 6GB";
export const DEFAULT_SENTENCES: readonly string[] = [PARK, PHONE];

/** The first token that occurs more than once, and the indices of its first two occurrences. */
export function firstRepetition({ tokens }: Encoding): readonly [first: number, second: number] | undefined {
  const first = tokens.findIndex((token, i) => tokens.indexOf(token, i + 1) > 0);
  return first < 0 ? undefined : [first, tokens.indexOf(tokens[first]!, first + 1)];
}

/** The indices at which a whole word occurs. */
export function positionsOf({ tokens }: Encoding, word: string): number[] {
  return tokens.flatMap((token, i) => (token === `▁${word}` ? [i] : []));
}

/** The largest difference between the attention of token a and that of token b, over all heads. */
export function largestRowDifference(encoding: Encoding, a: number, b: number): number {
  const differences = headsOf(encoding).flatMap(({ probs }) => {
    const row_b = rowOf(probs, b);
    return Array.from(rowOf(probs, a), (prob, j) => Math.abs(prob - row_b[j]!));
  });
  return Math.max(...differences);
}
