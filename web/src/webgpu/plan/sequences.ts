import type { AttentionSettings } from "../../attention/attentionSettings.js";
import type { AttentionShape } from "../../attention/attentionShape.js";
import type { Ragged } from "../../attention/ragged.js";

/** One batch, or one sequence of a ragged batch; `Sequence` of call.wgsl. */
export interface Sequence {
  readonly batch: number;
  readonly queryBegin: number;
  readonly numQueries: number;
  /** Rows from this one on are padding. */
  readonly queryLength: number;
  readonly keyBegin: number;
  readonly numKeys: number;
  readonly keyLength: number;
  /** Query i is at position i + offset. */
  readonly offset: number;
  /**
   * For a ring: the number of dropped tokens (`dropped`), and the place of the first token after those that the ring
   * keeps for ever (`seam`).
   */
  readonly dropped: number;
  readonly seam: number;
  /** Of a ring that is longer for one call: see HeldRing. */
  readonly sight?: number | undefined;
  /** How far back a query sees, beside the window's left side. Default: to the first key. */
  readonly reach?: number | undefined;
}

/** Words of a sequence in the shader's table. */
export const SEQUENCE_WORDS = 12;

/** Most rows or tokens of a batch. No buffer holds more rows, and a ring does not count further. */
export const MOST_TOKENS = 2 ** 29;

/**
 * Largest distance from a token that the kernels use. A position that is farther away sees the same keys as one at this
 * distance.
 */
const FARTHEST = 2 * MOST_TOKENS;

/** The sequences of a call. Lengths and offsets have the defaults of attention.h. */
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
 * Sequences as words for the shader's table, SEQUENCE_WORDS each. Two words follow from window and causality:
 * the position of the first key that query 0 may see, and the position after its last key. Positions beyond FARTHEST
 * are limited to it. There are fewer rows and keys than that, so all sums fit 32 bits and no comparison with a key
 * changes.
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
      near(s.offset - Math.min(left, s.reach ?? Infinity)),
      near(s.offset + last + 1),
    ]),
  );
}

function near(position: number): number {
  return Math.max(-FARTHEST, Math.min(FARTHEST, position));
}
