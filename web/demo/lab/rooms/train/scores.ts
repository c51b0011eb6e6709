/** The weights of one head on a sequence, [tokens, tokens]. Row i says what token i looks at. */
export interface HeadWeights {
  readonly data: ArrayLike<number>;
  readonly tokens: number;
}

/**
 * What a head does, as shares of its attention. S is the number of tokens and n = S/2: tokens n, n+1, … repeat tokens
 * 0, 1, …; p_ij is the weight of query i on key j.
 */
export interface HeadScores {
  /** Σ p_i,i−1 / (S − 1) over i = 1 … S − 1: the share that goes to the token before. */
  readonly previous: number;
  /** Σ p_i,i−n+1 / (n − 1) over i = n … S − 2: to what followed this token the last time. */
  readonly induction: number;
  /** Σ p_i,i−n / n over i = n … S − 1: to the same token, the last time. */
  readonly same: number;
}

export const HABITS = ["previous", "induction", "same"] as const satisfies readonly (keyof HeadScores)[];
export type Habit = (typeof HABITS)[number];

export function headScores(weights: HeadWeights): HeadScores {
  const { tokens } = weights;
  const half = tokens / 2;
  return {
    previous: mean(weights, 1, tokens - 1, (i) => i - 1),
    induction: mean(weights, half, tokens - 2, (i) => i - half + 1),
    same: mean(weights, half, tokens - 1, (i) => i - half),
  };
}

/** The scores of every head of a layer, from its weights [heads, tokens, tokens]. */
export function layerScores(probs: Float32Array, heads: number): readonly HeadScores[] {
  const size = probs.length / heads;
  return Array.from({ length: heads }, (_, head) =>
    headScores({ data: probs.subarray(head * size, (head + 1) * size), tokens: Math.round(Math.sqrt(size)) }),
  );
}

/** The mean weight of the queries from `first` to `last` on one key each. */
function mean({ data, tokens }: HeadWeights, first: number, last: number, key: (query: number) => number): number {
  let sum = 0;
  for (let query = first; query <= last; query++) sum += data[query * tokens + key(query)]!;
  return last < first ? 0 : sum / (last - first + 1);
}
