import { withDefaults } from "../read/withDefaults.js";
import type { Floats } from "../tensor/plainTensor.js";
import {
  attentionMaps,
  perMap,
  POSITION_DEFAULTS,
  rowsOf,
  type AttentionMaps,
  type PositionOptions,
  type Row,
} from "./attentionMaps.js";

/** What `positional` gives, both in the shape of the weights without their last two axes. */
export interface Positional {
  /** The mean weight at the offset, from 0 to 1. */
  readonly score: Floats;
  /** Position of the key − position of the query: −1 is the token before. */
  readonly offset: { readonly data: Int32Array; readonly shape: readonly number[] };
}

/**
 * How much each head attends at one fixed offset, and which one: the offset d with the largest mean weight on the key at
 * position + d (Voita et al. 2019, arXiv:1905.09418, call such heads positional). Of equal offsets it is the one nearest
 * to 0.
 *
 * A row counts if it sees a key and its query is not at position 0; for an offset it counts if that key exists. Offsets
 * for which fewer than half of the rows count are left out: the last row alone would always find one. If no row counts,
 * score and offset are 0. If a row holds NaN, the score is NaN and the offset 0.
 *
 * @param probs - `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 */
export function positional(probs: Floats, options: PositionOptions = {}): Positional {
  const { queryOffset } = withDefaults("positional", options, POSITION_DEFAULTS);
  const maps = attentionMaps("positional", "probs", probs, queryOffset);
  const best = Array.from({ length: maps.batch * maps.heads }, (_, n) => bestOffset(maps, rowsOf(maps, n)));
  return {
    score: perMap(maps, (n) => best[n]!.score),
    offset: { data: Int32Array.from(best, ({ offset }) => offset), shape: maps.outer },
  };
}

/** The offset with the largest mean weight over rows of these maps, and that mean. */
export function bestOffset({ queries, keys }: AttentionMaps, rows: Iterable<Row>): { score: number; offset: number } {
  const farthest = queries + keys; // no position is further from a key: queryOffset is at most Skv
  const sums = new Float64Array(farthest + keys);
  const counts = new Int32Array(sums.length);
  let rowCount = 0;
  for (const { weights, position } of rows) {
    if (position <= 0) continue;
    rowCount++;
    weights.forEach((weight, key) => {
      sums[farthest + key - position]! += weight;
      counts[farthest + key - position]!++;
    });
  }
  if (sums.some(Number.isNaN)) return { score: NaN, offset: 0 };
  let best = { score: 0, offset: 0 };
  sums.forEach((sum, n) => {
    const offset = n - farthest;
    if (counts[n] === 0 || 2 * counts[n]! < rowCount) return;
    const score = sum / counts[n]!;
    const isNearer = score === best.score && Math.abs(offset) < Math.abs(best.offset);
    if (score > best.score || isNearer) best = { score, offset };
  });
  return best;
}
