/**
 * Which weights dropout drops: Philox4x32-10 of Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", in
 * whole numbers of any size.
 */

const WORD = 2n ** 32n;

/** Four random words for a counter of four words and a key of two. */
export function philox(counter: readonly bigint[], [low, high]: readonly [bigint, bigint]): bigint[] {
  let [a, b, c, d] = counter as [bigint, bigint, bigint, bigint];
  for (let round = 0n; round < 10n; ++round) {
    const [first, second] = [0xd2511f53n * a, 0xcd9e8d57n * c];
    const [k0, k1] = [(low + round * 0x9e3779b9n) % WORD, (high + round * 0xbb67ae85n) % WORD];
    [a, b, c, d] = [(second / WORD) ^ b ^ k0, second % WORD, (first / WORD) ^ d ^ k1, first % WORD];
  }
  return [a, b, c, d];
}

/** What the weight of query row i and key row j of a head and a sequence is multiplied by: 0 or 1 / (1 − rate). */
export function keptShare(
  { rate, seed }: { readonly rate: number; readonly seed: number },
  n: number,
  h: number,
  i: number,
  j: number,
): number {
  const words = philox([Math.floor(j / 4), i, h, n].map(BigInt), [BigInt(seed) % WORD, BigInt(seed) / WORD]);
  return Number(words[j % 4]) < Math.floor(rate * 2 ** 32) ? 0 : 1 / (1 - rate);
}
