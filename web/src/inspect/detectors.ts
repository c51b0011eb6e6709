// Scores of heads, one function for each kind. The README says which rows and keys count.

import { withDefaults } from "../read/withDefaults.js";
import type { Floats, Indices } from "../tensor/plainTensor.js";
import { attentionMaps, perMap, POSITION_DEFAULTS, rowsOf, type PositionOptions } from "./attentionMaps.js";
import { afterEarlier, onFirst, onPrevious, onSelf } from "./patterns.js";
import { statisticsOf, type Measure } from "./rowStatistics.js";
import { tokenIds } from "./tokenIds.js";

/**
 * How much each head attends to the token of the query itself: the mean weight of row i on the key at its own position.
 *
 * All scores of this kind are means over the rows that count, from 0 to 1 (but for rounding), in the shape of `probs`
 * without its last two axes: `[B, H]`, `[H]` or `[]`. A row counts if it sees a key, if its query is not at position 0,
 * and if the key that the pattern names exists. The score is 0 if no row counts, and NaN if a row that counts has NaN
 * there.
 *
 * @param probs - `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 */
export function selfToken(probs: Floats, options: PositionOptions = {}): Floats {
  return scores("selfToken", probs, options, () => onSelf);
}

/**
 * How much each head attends to the token before the query: the mean weight on the key at position − 1. See `selfToken`
 * for the rows that count.
 *
 * @param probs - `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 */
export function previousToken(probs: Floats, options: PositionOptions = {}): Floats {
  return scores("previousToken", probs, options, () => onPrevious);
}

/**
 * How much each head attends to the first token: the mean weight on key 0. In decoders it is often a place where
 * weight goes that no other token needs, an attention sink (Xiao et al. 2023, arXiv:2309.17453). See `selfToken` for the
 * rows that count.
 *
 * @param probs - `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 */
export function firstToken(probs: Floats, options: PositionOptions = {}): Floats {
  return scores("firstToken", probs, options, () => onFirst);
}

/**
 * How much each head attends to earlier occurrences of the query's token: the mean of Σ p[j] over the keys j before the
 * query with tokens[j] = tokens[position] (Wang et al. 2022, arXiv:2211.00593). Rows count if their token has occurred
 * before; otherwise as in `selfToken`.
 *
 * @param probs - `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 * @param tokens - The ids of the tokens at the keys: `[Skv]` or `[B, Skv]`
 */
export function duplicateToken(probs: Floats, tokens: Indices, options: PositionOptions = {}): Floats {
  return scores("duplicateToken", probs, options, (maps) => afterEarlier(tokenIds("duplicateToken", tokens, maps), 0));
}

/**
 * How much each head attends to what followed the query's token earlier: the mean of Σ p[j + 1] over the keys j before
 * the query with tokens[j] = tokens[position]. This is the prefix-matching score of induction heads (Olsson et al. 2022,
 * arXiv:2209.11895). If a token stands twice in a row, what followed the first one is the query itself, and counts. Rows
 * count if their token has occurred before; otherwise as in `selfToken`.
 *
 * @param probs - `[B, H, Sq, Skv]`, `[H, Sq, Skv]` or `[Sq, Skv]`
 * @param tokens - The ids of the tokens at the keys: `[Skv]` or `[B, Skv]`
 */
export function induction(probs: Floats, tokens: Indices, options: PositionOptions = {}): Floats {
  return scores("induction", probs, options, (maps) => afterEarlier(tokenIds("induction", tokens, maps), 1));
}

function scores(
  operation: string,
  probs: Floats,
  options: PositionOptions,
  measureOf: (maps: ReturnType<typeof attentionMaps>) => Measure,
): Floats {
  const { queryOffset } = withDefaults(operation, options, POSITION_DEFAULTS);
  const maps = attentionMaps(operation, "probs", probs, queryOffset);
  const measure = measureOf(maps);
  return perMap(maps, (n) => statisticsOf(rowsOf(maps, n), measure).mean);
}
