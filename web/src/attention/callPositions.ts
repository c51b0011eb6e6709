import type { AttentionShape } from "./attentionShape.js";
import type { Ragged } from "./ragged.js";

/** The rows of one sequence, which is a batch or a sequence of a ragged batch, and their positions. */
export interface SequencePositions {
  readonly numQueries: number;
  readonly numKeys: number;
  /** Rows without padding. */
  readonly queryLength: number;
  readonly keyLength: number;
  /** The position of query 0. */
  readonly offset: number;
  /** The position of the last key without padding. The first one has position 0, or its token was dropped. */
  readonly lastKey: number;
}

/** The settings that decide where the rows of a call are. */
export interface PositionSettings {
  readonly queryLengths: Int32Array | undefined;
  readonly keyLengths: Int32Array | undefined;
  readonly queryOffset: Int32Array | undefined;
  readonly causal: "none" | "upper-left" | "lower-right";
}

/** The sequences of a call without a cache. */
export function callPositions(
  shape: AttentionShape,
  { queryLengths, keyLengths, queryOffset, causal }: PositionSettings,
  ragged: Ragged | undefined,
): SequencePositions[] {
  const count = ragged ? ragged.query.length - 1 : shape.batchSize;
  const sequences: SequencePositions[] = [];
  for (let n = 0; n < count; ++n) {
    const numQueries = ragged ? ragged.query[n + 1]! - ragged.query[n]! : shape.queryLength;
    const numKeys = ragged ? ragged.key[n + 1]! - ragged.key[n]! : shape.keyLength;
    const queryLength = queryLengths?.[n] ?? numQueries;
    const keyLength = keyLengths?.[n] ?? numKeys;
    const offset = queryOffset?.[n] ?? (causal === "lower-right" ? keyLength - queryLength : 0);
    sequences.push({ numQueries, numKeys, queryLength, keyLength, offset, lastKey: keyLength - 1 });
  }
  return sequences;
}
