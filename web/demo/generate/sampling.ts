/** What may come next: the tokens with a chance, the likeliest first. */
export interface Candidate {
  readonly token: number;
  /** The chance that the model gives it. */
  readonly probability: number;
  /** Its chance to be taken, by temperature and top-k. */
  readonly chance: number;
}

export interface Taking {
  /** Scores are divided by it. At 0 the likeliest token is taken. */
  readonly temperature: number;
  /** Only this many of the likeliest tokens can be taken. */
  readonly topK: number;
}

/** The softmax of scores divided by a temperature above 0. */
export function softmax(scores: ArrayLike<number>, temperature = 1): Float64Array {
  let highest = -Infinity;
  for (let at = 0; at < scores.length; at++) highest = Math.max(highest, scores[at]!);
  const weights = Float64Array.from(scores, (score) => Math.exp((score - highest) / temperature));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** All tokens, the likeliest first; of equal ones the first. */
export function candidates(scores: ArrayLike<number>, { temperature, topK }: Taking): readonly Candidate[] {
  const probabilities = softmax(scores);
  const order = Array.from(scores, (_, token) => token).sort((a, b) => scores[b]! - scores[a]! || a - b);
  const kept = temperature === 0 ? 1 : Math.min(topK, order.length);
  const chances = softmax(
    order.slice(0, kept).map((token) => scores[token]!),
    temperature || 1,
  );
  return order.map((token, rank) => ({
    token,
    probability: probabilities[token]!,
    chance: chances[rank] ?? 0,
  }));
}

/** The token that a number in [0, 1) takes. */
export function taken(from: readonly Candidate[], uniform: number): number {
  let sum = 0;
  for (const { token, chance } of from) {
    sum += chance;
    if (uniform < sum) return token;
  }
  return from.findLast(({ chance }) => chance > 0)!.token; // the chances sum to a little less than 1
}

/** How much a token surprises, in nats. */
export function surprise(scores: ArrayLike<number>, token: number): number {
  return -Math.log(softmax(scores)[token]!);
}

/** The largest distance between two lists of chances. */
export function largestChange(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = 0;
  for (let at = 0; at < a.length; at++) largest = Math.max(largest, Math.abs(a[at]! - b[at]!));
  return largest;
}
