/** Softmax in double precision. */
export function probabilitiesOf(scores: Float32Array): Float64Array {
  let highest = -Infinity;
  for (const score of scores) highest = Math.max(highest, score);
  const all = Float64Array.from(scores, (score) => Math.exp(score - highest));
  let sum = 0;
  for (const value of all) sum += value;
  return all.map((value) => value / sum);
}

/** The logarithm of a token's probability divided by that of all others, in double precision. */
export function logOdds(scores: Float32Array, token: number): number {
  let highest = -Infinity;
  scores.forEach((score, at) => at !== token && (highest = Math.max(highest, score)));
  let others = 0;
  scores.forEach((score, at) => at !== token && (others += Math.exp(score - highest)));
  return scores[token]! - highest - Math.log(others);
}

/** The probability that has these log-odds. */
export function probabilityOf(odds: number): number {
  return 1 / (1 + Math.exp(-odds));
}

/** The indices of the `count` numbers that are largest in one of two lists, the largest first. */
export function largestOf(a: ArrayLike<number>, b: ArrayLike<number>, count: number): number[] {
  const best: number[] = [];
  const size = (at: number) => Math.max(a[at]!, b[at]!);
  for (let at = 0; at < a.length; at++) {
    if (best.length === count && size(at) <= size(best.at(-1)!)) continue;
    const place = best.findIndex((other) => size(at) > size(other));
    best.splice(place < 0 ? best.length : place, 0, at);
    if (best.length > count) best.pop();
  }
  return best;
}

/** The share of probability that is on other tokens: half of the sum of all differences. */
export function movedShare(before: Float64Array, now: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < before.length; at++) sum += Math.abs(before[at]! - now[at]!);
  return sum / 2;
}

/** The cosine of each row with the same row of another matrix. */
export function rowCosines(a: Float32Array, b: Float32Array, width: number): number[] {
  return Array.from({ length: a.length / width }, (_, row) => {
    let [dot, left, right] = [0, 0, 0];
    for (let at = row * width; at < (row + 1) * width; at++) {
      dot += a[at]! * b[at]!;
      left += a[at]! ** 2;
      right += b[at]! ** 2;
    }
    return dot / Math.sqrt(left * right);
  });
}
