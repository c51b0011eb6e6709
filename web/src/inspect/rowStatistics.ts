import type { Row } from "./attentionMaps.js";

/** A number for a row of attention weights; undefined if the row does not count. */
export type Measure = (row: Row) => number | undefined;

/** What a measure gives over rows. All are 0 if no row counts, and NaN if one of the numbers is. */
export interface Statistics {
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  /** How many rows count. */
  readonly count: number;
}

/** The statistics of a measure over rows. */
export function statisticsOf(rows: Iterable<Row>, measure: Measure): Statistics {
  let [sum, min, max, count] = [0, Infinity, -Infinity, 0];
  for (const row of rows) {
    const value = measure(row);
    if (value === undefined) continue;
    sum += value;
    min = Math.min(min, value);
    max = Math.max(max, value);
    count++;
  }
  return count ? { mean: sum / count, min, max, count } : { mean: 0, min: 0, max: 0, count };
}
