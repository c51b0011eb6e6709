import type { RowChoice } from "../../attention/views.js";
import type { Sequence } from "../plan/sequences.js";

/** Heads and rows of a choice, by index. */
export interface Chosen {
  readonly heads: readonly number[];
  readonly rows: readonly number[];
}

export function chosenOf({ heads, rows }: RowChoice, numHeads: number, numRows: number): Chosen {
  return { heads: listed(heads, numHeads), rows: listed(rows, numRows) };
}

function listed(chosen: Int32Array | undefined, count: number): number[] {
  return chosen ? [...chosen] : Array.from({ length: count }, (_, n) => n);
}

/** Whether a row of a batch is a token, not padding. */
export type IsToken = (batch: number, row: number) => boolean;

/** Rows of queries, `length` for each batch. */
export function queryTokens(sequences: readonly Sequence[], length: number): IsToken {
  const ranges = sequences.map(({ batch, queryBegin, numQueries, queryLength }) => {
    return { begin: batch * length + queryBegin, count: Math.min(queryLength, numQueries) };
  });
  return tokensIn(ranges, length);
}

/** Rows of keys that do not lie in a cache, `length` for each batch. */
export function keyTokens(sequences: readonly Sequence[], length: number): IsToken {
  const ranges = sequences.map(({ batch, keyBegin, numKeys, keyLength }) => {
    return { begin: batch * length + keyBegin, count: Math.min(keyLength, numKeys) };
  });
  return tokensIn(ranges, length);
}

function tokensIn(ranges: readonly { readonly begin: number; readonly count: number }[], length: number): IsToken {
  const areTokens: boolean[] = [];
  for (const { begin, count } of ranges) for (let row = begin; row < begin + count; ++row) areTokens[row] = true;
  return (batch, row) => areTokens[batch * length + row] === true;
}

/** What `of` gives for the chosen rows of all batches, in their order. `n` is the number of a row in the choice. */
export function ofRows<T>(
  batchSize: number,
  rows: readonly number[],
  of: (batch: number, n: number, row: number) => readonly T[],
): T[] {
  return Array.from({ length: batchSize }, (_, batch) => rows.flatMap((row, n) => of(batch, n, row))).flat();
}
