import type { Engine } from "../../engine/engine.js";
import { decimal } from "../../shell/numbers.js";
import { randomNormal } from "../../shell/random.js";
import { t } from "../../../texts/t.js";
import { percent } from "./percent.js";

const QUERIES = 64;
const KEYS = 64;

/** Statistics of the scores of random vectors. */
export interface ScoreStatistics {
  readonly scores: Float32Array;
  readonly variance: number;
  /** The mean over the rows of the largest probability. Near 1, the softmax selects a single key. */
  readonly peak: number;
}

/** Computes the statistics of random queries and keys, with scale 1 and with 1/√D. */
export async function scoreStatistics(
  engine: Engine,
  dim: number,
): Promise<{ unscaled: ScoreStatistics; scaled: ScoreStatistics }> {
  const query = { data: randomNormal(1, QUERIES * dim), shape: [QUERIES, dim] };
  const key = { data: randomNormal(2, KEYS * dim), shape: [KEYS, dim] };
  const statistics = async (scale: number): Promise<ScoreStatistics> => {
    const { scores, probs } = await engine.scaledDotProductAttention(query, key, key, {
      scale,
      returns: { output: false, scores: "raw", probs: true },
    });
    const peaks = Array.from({ length: QUERIES }, (_, i) => Math.max(...probs.data.subarray(i * KEYS, (i + 1) * KEYS)));
    return { scores: scores.data, variance: variance(scores.data), peak: mean(peaks) };
  };
  return { unscaled: await statistics(1), scaled: await statistics(1 / Math.sqrt(dim)) };
}

function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

function variance(values: Float32Array): number {
  const middle = mean(values);
  return mean(values.map((value) => (value - middle) ** 2));
}

export function statisticsWords(name: string, { variance, peak }: ScoreStatistics): string {
  return t`${name}: variance ${decimal(variance, 1)}. The softmax gives its favourite ${percent(peak)} on average.`;
}
