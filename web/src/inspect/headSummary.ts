import { withDefaults } from "../read/withDefaults.js";
import type { Floats } from "../tensor/plainTensor.js";
import {
  attentionMaps,
  perMap,
  POSITION_DEFAULTS,
  rowsOf,
  type AttentionMaps,
  type PositionOptions,
} from "./attentionMaps.js";
import { integers } from "./options.js";
import { statisticsOf, type Measure } from "./rowStatistics.js";

/**
 * A measure of rows, summarised for each head. The tensors have the shape of the weights without the last two axes:
 * `[B, H]`, `[H]` or `[]`. Rows that see no key do not count: all their weights are 0, as headwise gives them with
 * `emptyRows: "zero"` and past `queryLengths`. If no row counts, all numbers are 0. NaN in a row shows in the numbers of
 * its head.
 */
export interface HeadSummary {
  readonly mean: Floats;
  readonly min: Floats;
  readonly max: Floats;
  /** How many rows count. */
  readonly count: Floats;
}

/**
 * The entropy of each row, −Σ p·ln p over its keys, in nats; 0·ln 0 is 0. It is 0 for a row that attends to one key, and
 * ln n for equal weights on n keys. It is the `entropy` of a call. With sinks the sink's share is left out.
 *
 * @param probs - `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 */
export function entropySummary(probs: Floats): HeadSummary {
  return summarize(attentionMaps("entropySummary", "probs", probs), ({ weights }) =>
    weights.reduce((sum, p) => (p === 0 ? sum : sum - p * Math.log(p)), 0),
  );
}

/**
 * How far each row looks: the mean of |key − position of the query| in tokens, weighted with the row's weights and
 * divided by their sum (which is below 1 with sinks). Vig & Belinkov (2019, arXiv:1906.04284) call its mean the mean
 * attention distance of a head.
 *
 * @param probs - `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 */
export function distanceSummary(probs: Floats, options: PositionOptions = {}): HeadSummary {
  const { queryOffset } = withDefaults("distanceSummary", options, POSITION_DEFAULTS);
  return summarize(attentionMaps("distanceSummary", "probs", probs, queryOffset), ({ weights, position }) => {
    let [sum, total] = [0, 0];
    weights.forEach((p, key) => {
      sum += p * Math.abs(key - position);
      total += p;
    });
    return sum / total;
  });
}

/**
 * The weight of each row on chosen keys together, from 0 to 1: on separators, on the first tokens, on an image's part of
 * a prompt.
 *
 * @param probs - `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 * @param keys - Indices of keys from 0 to Skv − 1, the same for all sequences. A key that is named twice counts once.
 */
export function massSummary(probs: Floats, keys: readonly number[] | Int32Array): HeadSummary {
  const maps = attentionMaps("massSummary", "probs", probs);
  const chosen = [...new Set(integers("massSummary", "keys", keys, 0, maps.keys - 1))];
  return summarize(maps, ({ weights }) => chosen.reduce((sum, key) => sum + weights[key]!, 0));
}

function summarize(maps: AttentionMaps, measure: Measure): HeadSummary {
  const all = Array.from({ length: maps.batch * maps.heads }, (_, n) => statisticsOf(rowsOf(maps, n), measure));
  const tensor = (name: keyof (typeof all)[number]) => perMap(maps, (n) => all[n]![name]);
  return { mean: tensor("mean"), min: tensor("min"), max: tensor("max"), count: tensor("count") };
}
