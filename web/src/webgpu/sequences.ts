import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import type { Ragged } from "../attention/ragged.js";

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
export const SEQUENCE_WORDS = 12;

/** Rows and tokens of a batch: no buffer holds more rows, and a ring counts no further. */
export const MOST_TOKENS = 2 ** 29;

/** As far from any token as the kernels count: what lies farther sees the same keys from here. */
const FARTHEST = 2 * MOST_TOKENS;

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
    const offset = queryOffset?.[n] ?? aligned;
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

/**
 * As the shader's table holds them, SEQUENCE_WORDS each: last the offsets of the first key that query 0 may see and of the
 * key behind the last, by window and causality. Positions beyond FARTHEST are brought there: rows and keys are fewer, so
 * every sum stays within 32 bits and every comparison with a key comes out as before.
 */
export function sequenceWords(
  sequences: readonly Sequence[],
  { window, causal }: Pick<AttentionSettings, "window" | "causal">,
): Int32Array {
  const { left = Infinity, right = Infinity } = window;
  const last = causal === "none" ? right : Math.min(right, 0);
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
      near(s.offset - left),
      near(s.offset + last + 1),
    ]),
  );
}

function near(position: number): number {
  return Math.max(-FARTHEST, Math.min(FARTHEST, position));
}
