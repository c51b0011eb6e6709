import { exponential } from "../train/exponential.js";
import { random } from "../train/random.js";

/** How the next token is chosen. */
export interface SamplingOptions {
  /** Scores are divided by it. At 0, the default, the token with the highest score is taken. */
  readonly temperature?: number | undefined;
  /** Only this many of the likeliest tokens can be taken; more, if the last ones are equal. Default: all. */
  readonly topK?: number | undefined;
  /**
   * Only the likeliest tokens that together have at least this probability can be taken (Holtzman et al. 2019,
   * arXiv:1904.09751). It comes after `topK`. Default: 1, which is all.
   */
  readonly topP?: number | undefined;
  /** Where the random numbers begin: an integer from 0 to 2³² − 1. Default: 0. */
  readonly seed?: number | undefined;
}

/** Chooses a token by scores. */
export type Sampler = (logits: Float32Array) => number;

/** The chooser of a text: its random numbers go on from token to token. */
export function sampler({ temperature = 0, topK = Infinity, topP = 1, seed = 0 }: SamplingOptions): Sampler {
  const { next } = random(seed);
  if (temperature === 0) return likeliest;
  return (logits) => {
    const weights = softmax(logits, temperature);
    const least = leastKept(weights, topK, topP);
    const kept = weights.map((weight) => (weight < least ? 0 : weight));
    let left = next() * kept.reduce((sum, weight) => sum + weight, 0);
    const drawn = kept.findIndex((weight) => weight > 0 && (left -= weight) < 0);
    return drawn < 0 ? kept.findLastIndex((weight) => weight > 0) : drawn; // rounding may leave a little
  };
}

/** The token with the highest score; of equal ones the first. */
export function likeliest(logits: Float32Array): number {
  let best = 0;
  for (let token = 1; token < logits.length; token++) if (logits[token]! > logits[best]!) best = token;
  return best;
}

/** The softmax of scores at one token, with a relative error below 10⁻⁷. */
export function probabilityOf(logits: Float32Array, token: number): number {
  const highest = logits[likeliest(logits)]!;
  let sum = 0;
  for (let n = 0; n < logits.length; n++) sum += exponential(logits[n]! - highest);
  return exponential(logits[token]! - highest) / sum;
}

/** The softmax of scores divided by a temperature. */
function softmax(logits: Float32Array, temperature: number): Float64Array {
  const highest = logits[likeliest(logits)]!;
  const weights = new Float64Array(logits.length);
  let sum = 0;
  for (let token = 0; token < weights.length; token++)
    sum += weights[token] = Math.exp((logits[token]! - highest) / temperature);
  for (let token = 0; token < weights.length; token++) weights[token]! /= sum;
  return weights;
}

/** The least weight that top-k and top-p keep. */
function leastKept(weights: Float64Array, topK: number, topP: number): number {
  if (topK >= weights.length && topP === 1) return 0;
  const sorted = weights.slice().sort().reverse();
  const likely = sorted.filter((weight) => weight >= (sorted[topK - 1] ?? 0)); // more than topK, if the last ones are equal
  const enough = topP * likely.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  return likely.find((weight) => (sum += weight) >= enough) ?? 0;
}
