import type { AttentionOptions, EmptyRows, Tensor, Window } from "headwise";

/** Options of the definition in double precision. They have the names of `scaledDotProductAttention`. */
export interface ExactOptions {
  readonly scale?: number;
  readonly causal?: NonNullable<AttentionOptions["causal"]>;
  readonly queryOffset?: number;
  readonly window?: Window;
  readonly mask?: Tensor<"bool">;
  readonly keyLengths?: readonly number[];
  readonly queryLengths?: readonly number[];
  readonly excludeSelf?: boolean;
  readonly softcap?: number;
  readonly alibiSlopes?: readonly number[];
  readonly sinks?: readonly number[];
  readonly headGain?: readonly number[];
  readonly emptyRows?: EmptyRows;
  /** The scores before the softmax, −∞ where hidden, if they are known: [B, Hq, Sq, Skv]. The rules are not asked then. */
  readonly scores?: ArrayLike<number>;
}

interface Array4 {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
}

export interface ExactResult {
  /** [B, Hq, Sq, Dv] */
  readonly output: Float64Array;
  /** [B, Hq, Sq, Skv] */
  readonly probs: Float64Array;
}

/**
 * Attention by its definition, in double precision and without optimisations. The lab compares headwise's numbers with
 * it. It is slow, and written to be read.
 */
export function exactAttention(query: Array4, key: Array4, value: Array4, options: ExactOptions): ExactResult {
  const [B, Hq, Sq, D] = query.shape as [number, number, number, number];
  const [, Hkv, Skv] = key.shape as [number, number, number];
  const Dv = value.shape[3]!;
  const output = new Float64Array(B * Hq * Sq * Dv);
  const probs = new Float64Array(B * Hq * Sq * Skv);

  for (let b = 0; b < B; b++)
    for (let h = 0; h < Hq; h++)
      for (let i = 0; i < Sq; i++) {
        const g = Math.floor(h / (Hq / Hkv));
        const row = (b * Hq + h) * Sq + i;
        const keyRow = (j: number) => (b * Hkv + g) * Skv + j;
        const place = { b, h, i, queryLength: Sq, keyLength: Skv };
        const scores = Array.from({ length: Skv }, (_, j) => {
          if (options.scores) return options.scores[row * Skv + j]!;
          if (!isVisible(place, j, options)) return -Infinity;
          const dot = sum(D, (d) => query.data[row * D + d]! * key.data[keyRow(j) * D + d]!);
          return biased(dot * (options.scale ?? 1 / Math.sqrt(D)), place, j, options);
        });
        const p = probabilities(scores, options.sinks?.[h] ?? -Infinity, place, options);
        const gain = options.headGain?.[h] ?? 1;
        probs.set(p, row * Skv);
        for (let d = 0; d < Dv; d++)
          output[row * Dv + d] =
            gain === 0 ? 0 : gain * sum(Skv, (j) => (p[j] === 0 ? 0 : p[j]! * value.data[keyRow(j) * Dv + d]!));
      }
  return { output, probs };
}

interface Place {
  readonly b: number;
  readonly h: number;
  readonly i: number;
  readonly queryLength: number;
  readonly keyLength: number;
}

function keysOf({ b, keyLength }: Place, { keyLengths }: ExactOptions): number {
  return keyLengths?.[b] ?? keyLength;
}

/** The position of query 0 among the keys. */
function offsetOf(place: Place, options: ExactOptions): number {
  const { queryOffset, causal } = options;
  if (queryOffset !== undefined) return queryOffset;
  const lowerRight = causal === true || causal === "lower-right";
  return lowerRight ? keysOf(place, options) - (options.queryLengths?.[place.b] ?? place.queryLength) : 0;
}

function isVisible(place: Place, j: number, options: ExactOptions): boolean {
  const position = place.i + offsetOf(place, options);
  const { left = Infinity, right = Infinity } = options.window ?? {};
  return (
    j < keysOf(place, options) &&
    place.i < (options.queryLengths?.[place.b] ?? place.queryLength) &&
    (!options.causal || j <= position) &&
    j >= position - left &&
    j <= position + right &&
    !(options.excludeSelf && j === position) &&
    attends(place, j, options.mask)
  );
}

/** The mask's value for a query and a key, broadcast from the right. */
function attends({ b, h, i }: Place, j: number, mask: ExactOptions["mask"]): boolean {
  if (!mask) return true;
  const extents = [1, 1, 1, 1, ...mask.shape].slice(-4);
  const at = [b, h, i, j].reduce((index, n, axis) => index * extents[axis]! + (extents[axis] === 1 ? 0 : n), 0);
  return mask.data[at] !== 0;
}

function biased(score: number, place: Place, j: number, options: ExactOptions): number {
  const { softcap = 0, alibiSlopes } = options;
  const capped = softcap > 0 ? softcap * Math.tanh(score / softcap) : score;
  return capped - (alibiSlopes?.[place.h] ?? 0) * Math.abs(place.i + offsetOf(place, options) - j);
}

function probabilities(scores: readonly number[], sink: number, place: Place, options: ExactOptions): number[] {
  const highest = Math.max(sink, ...scores);
  if (scores.every((score) => score === -Infinity)) return emptyRow(scores.length, place, options);
  const weights = scores.map((score) => Math.exp(score - highest));
  const total = Math.exp(sink - highest) + weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / total);
}

function emptyRow(length: number, place: Place, options: ExactOptions): number[] {
  const isPadding = place.i >= (options.queryLengths?.[place.b] ?? place.queryLength);
  const keys = keysOf(place, options);
  if (!isPadding && options.emptyRows === "nan") return Array<number>(length).fill(NaN);
  if (isPadding || options.emptyRows !== "uniform") return Array<number>(length).fill(0);
  return Array.from({ length }, (_, j) => (j < keys ? 1 / keys : 0));
}

function sum(length: number, term: (index: number) => number): number {
  let total = 0;
  for (let index = 0; index < length; index++) total += term(index);
  return total;
}
