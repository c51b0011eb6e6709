import type { RowPatch } from "../../attention/patch.js";
import { EmptyRowError, type RowIndex } from "../../base/errors.js";
import { asArray, type Call, type Span } from "../call/call.js";
import type { PlannedAttention } from "../plan/plannedAttention.js";

/** Flags of a row, as in call.wgsl. */
const SEEN = 1;
const PADDING = 4;

const MOST_LISTED_ROWS = 8;

interface Rows {
  readonly problem: Pick<PlannedAttention["problem"], "operation" | "shape">;
  readonly sequences: PlannedAttention["sequences"];
}

/**
 * `emptyRows: "throw"`: reads which rows saw no key in the attention pass.
 *
 * @param weights - The patch of weights. Rows that it gives weights to are not empty.
 * @param words - How many words each row has in `flagsOfRows`, and which of them has the flags.
 */
export function emptyRowCheck(
  call: Call,
  { problem, sequences }: Rows,
  flagsOfRows: Span,
  weights?: RowPatch,
  words = { count: 1, flags: 0 },
): (result: ArrayBuffer) => void {
  const { operation, shape } = problem;
  const read = call.read(flagsOfRows);
  const isGiven = givenRows(weights);
  return (result) => {
    const flags = asArray("int32", read(result));
    const rows: RowIndex[] = [];
    for (const [n, sequence] of sequences.entries())
      for (let head = 0; head < shape.numHeads; ++head)
        for (let query = 0; query < sequence.numQueries && rows.length < MOST_LISTED_ROWS; ++query) {
          const token = sequence.queryBegin + query;
          if (isGiven(head, token)) continue;
          const row = (sequence.batch * shape.numHeads + head) * shape.queryLength + token;
          if ((flags[row * words.count + words.flags]! & (SEEN | PADDING)) === 0) rows.push({ batch: n, head, query });
        }
    const [first] = rows;
    if (first)
      throw new EmptyRowError(
        `${operation}: batch ${first.batch}, head ${first.head}, query ${first.query} sees no key`,
        rows,
      );
  };
}

/** Which rows of heads a patch gives weights to. A mean is taken over visible keys, and an empty row has none. */
function givenRows(weights: RowPatch | undefined): (head: number, row: number) => boolean {
  if (!weights || weights.data === "mean") return () => false;
  const [heads, rows] = [weights.heads, weights.rows].map((chosen) => chosen && new Set(chosen));
  return (head, row) => (heads?.has(head) ?? true) && (rows?.has(row) ?? true);
}
