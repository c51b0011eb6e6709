// Attention weights whose properties are known.

import type { Floats } from "headwise/inspect";

export const floats = (data: readonly number[], shape: readonly number[] = [data.length]): Floats => ({
  data: Float32Array.from(data),
  shape,
});

/** One head `[1, S, Skv]` whose row i has weight(i, j) at key j. */
export function head(queries: number, keys: number, weight: (query: number, key: number) => number): Floats {
  const at = (n: number) => weight(Math.floor(n / keys), n % keys);
  return floats(
    Array.from({ length: queries * keys }, (_, n) => at(n)),
    [1, queries, keys],
  );
}

/** A head that gives all weight to one key. */
export const pointing = (tokens: number, keyOf: (query: number) => number) =>
  head(tokens, tokens, (query, key) => Number(key === keyOf(query)));

/** A head that gives equal weights to all keys that a causal mask lets it see. */
export const uniform = (tokens: number) => head(tokens, tokens, (query, key) => (key <= query ? 1 / (query + 1) : 0));

/** Heads `[1, S, Skv]` as one layer `[H, S, Skv]`. */
export function layer(...heads: readonly Floats[]): Floats {
  return floats(
    heads.flatMap(({ data }) => [...data]),
    [heads.length, ...heads[0]!.shape.slice(1)],
  );
}

/** Layers `[H, S, Skv]` of one sequence each as a batch `[B, H, S, Skv]`. */
export function batch(...sequences: readonly Floats[]): Floats {
  const { data, shape } = layer(...sequences);
  return { data, shape: [shape[0]!, ...sequences[0]!.shape] };
}

/** Heads of random weights, each row of which sums to 1. */
export function randomHeads(heads: number, tokens: number, random: () => number): Floats {
  const rows = Array.from({ length: heads * tokens }, () => {
    const row = Array.from({ length: tokens }, random);
    const sum = row.reduce((total, each) => total + each);
    return row.map((each) => each / sum);
  });
  return floats(rows.flat(), [heads, tokens, tokens]);
}
