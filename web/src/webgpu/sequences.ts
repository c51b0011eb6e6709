import type { AttentionSettings, AttentionShape } from "../attentionOptions.js";
import type { Ragged } from "../ragged.js";

/** One batch, or one stretch of a ragged batch, as `Sequence` of call.wgsl. */
export interface Sequence {
  readonly batch: number;
  readonly queryBegin: number;
  readonly numQueries: number;
  /** Rows from here on are padding. */
  readonly queryLength: number;
  readonly keyBegin: number;
  readonly numKeys: number;
  readonly keyLength: number;
  /** Query i stands at i + offset. */
  readonly offset: number;
  /** Tokens gone from a ring, and the place of the first behind those that it keeps. */
  readonly dropped: number;
  readonly seam: number;
}

/** Words of a sequence in the shader's table. */
export const SEQUENCE_WORDS = 10;

/** Positions stay this far from the ends of a 32-bit integer, with windows and lengths added. */
export const FARTHEST = 2 ** 29;

/** The sequences of a call, lengths and offsets resolved as attention.h says. */
export function resolveSequences(
  shape: AttentionShape,
  settings: AttentionSettings,
  ragged: Ragged | undefined,
): Sequence[] {
  const { keyLengths, queryLengths, queryOffset, causal } = settings;
  const count = ragged ? ragged.query.length - 1 : shape.batchSize;
  return Array.from({ length: count }, (_, n) => {
    const queryBegin = ragged?.query[n] ?? 0;
    const keyBegin = ragged?.key[n] ?? 0;
    const numQueries = (ragged?.query[n + 1] ?? shape.queryLength) - queryBegin;
    const numKeys = (ragged?.key[n + 1] ?? shape.keyLength) - keyBegin;
    const queryLength = queryLengths?.[n] ?? numQueries;
    const keyLength = keyLengths?.[n] ?? numKeys;
    const aligned = causal === "lower-right" ? keyLength - queryLength : 0;
    const offset = Math.max(-FARTHEST, Math.min(FARTHEST, queryOffset?.[n] ?? aligned));
    return {
      batch: ragged ? 0 : n,
      queryBegin,
      numQueries,
      queryLength,
      keyBegin,
      numKeys,
      keyLength,
      offset,
      dropped: 0,
      seam: 0,
    };
  });
}

/** As the shader's table holds them, SEQUENCE_WORDS each. */
export function sequenceWords(sequences: readonly Sequence[]): Int32Array {
  return Int32Array.from(
    sequences.flatMap((s) => [
      s.batch,
      s.queryBegin,
      s.numQueries,
      s.queryLength,
      s.keyBegin,
      s.numKeys,
      s.keyLength,
      s.offset,
      s.dropped,
      s.seam,
    ]),
  );
}
