import type { Encoding } from "./encoder.js";
import { headsOf, rowOf } from "./heads.js";

/**
 * The default sentences. In the first one a word occurs twice with two meanings, and only its position tells them
 * apart. In the second one, the attention of "phone" to "RAM" differs from that of "RAM" to "phone".
 */
export const PARK = "They decided to park the car in the park.";
export const PHONE = "My phone has a RAM of 6GB";
export const DEFAULT_SENTENCES: readonly string[] = [PARK, PHONE];
/** The sentences of the lab when it opens. The third one is similar in meaning to the first. */
export const FIRST_SENTENCES: readonly string[] = [...DEFAULT_SENTENCES, "We left the vehicle near the playground."];

/** The indices of the words that the model knows. Signs without a letter or a digit are no words. */
export function knownWords({ tokens, unknown }: Pick<Encoding, "tokens" | "unknown">): number[] {
  return tokens.flatMap((token, i) => (/[\p{L}\p{N}]/u.test(token) && !unknown.includes(i) ? [i] : []));
}

/** The first known word that occurs more than once: the indices of its first two occurrences. */
export function firstRepetition(
  encoding: Pick<Encoding, "tokens" | "unknown">,
): readonly [first: number, second: number] | undefined {
  const { tokens } = encoding;
  const first = knownWords(encoding).find((i) => tokens.indexOf(tokens[i]!, i + 1) > 0) ?? -1;
  return first < 0 ? undefined : [first, tokens.indexOf(tokens[first]!, first + 1)];
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
