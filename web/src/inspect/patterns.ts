// The weight of a row on the keys that a pattern names. A row whose query stands at position 0 counts in no pattern:
// under a causal mask it sees one key, and would have the pattern whatever the head does.

import type { Row } from "./attentionMaps.js";
import type { Measure } from "./rowStatistics.js";

export const onSelf: Measure = (row) => onKey(row, row.position);
export const onPrevious: Measure = (row) => onKey(row, row.position - 1);
export const onFirst: Measure = (row) => onKey(row, 0);

/** The weight on one key. The row does not count if there is no such key. */
function onKey({ weights, position }: Row, key: number): number | undefined {
  return position > 0 ? weights[key] : undefined;
}

/**
 * The weight on all keys that stand `beyond` tokens after an earlier occurrence of the query's own token. The row does
 * not count if its token has not occurred before.
 */
export function afterEarlier(tokens: readonly Int32Array[], beyond: 0 | 1): Measure {
  return ({ weights, position, sequence }) => {
    const ids = tokens[sequence]!;
    let mass: number | undefined;
    for (let key = 0; key < Math.min(position, ids.length); key++)
      if (ids[key] === ids[position]) mass = (mass ?? 0) + weights[key + beyond]!;
    return mass;
  };
}
