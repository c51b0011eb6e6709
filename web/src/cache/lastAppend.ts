import { readPositions, type AttentionSettings } from "../attention/attentionSettings.js";
import type { Eventually } from "../turn/context.js";
import type { EngineCache } from "./engineCache.js";
import { keepOwnPositions, type OwnPositions } from "./ownPositions.js";

/** What is remembered of an append. */
export interface Append {
  /** How many rows it had for every batch. */
  readonly numTokens: number;
  /** How many leading rows of each batch were tokens; the others were padding. undefined: all were tokens. */
  readonly lengths: Int32Array | undefined;
}

interface Note extends Append {
  /** Tokens appended to each batch in total, right after this append. */
  readonly appended: readonly number[];
}

const notes = new WeakMap<EngineCache, Note>();

/** Remembers an append. */
export function noteAppend(cache: EngineCache, { numTokens, lengths }: Append): void {
  notes.set(cache, { numTokens, lengths, appended: cache.appended });
}

/** Remembers the append that was the last one before its batches were selected. */
export function selectAppend(cache: EngineCache, append: Append | undefined, indices: Int32Array): void {
  if (append) noteAppend(cache, { ...append, lengths: append.lengths && indices.map((b) => append.lengths![b]!) });
}

/** Remembers an append, and where the tokens of the cache stand after it. */
export function noteTokens(cache: EngineCache, append: Append, own: OwnPositions | undefined): void {
  noteAppend(cache, append);
  keepOwnPositions(cache, own);
}

/**
 * Runs a call that appends, and notes its tokens. If it fails, they are noted only if they stay: a ring that has dropped a
 * token for a single new one cannot go back.
 */
export async function noting<T>(
  cache: EngineCache,
  append: Append,
  own: OwnPositions | undefined,
  work: () => Eventually<T>,
): Promise<T> {
  const before = cache.appended;
  try {
    const result = await work();
    noteTokens(cache, append, own);
    return result;
  } catch (error) {
    if (cache.appended.some((tokens, b) => tokens > before[b]!)) noteTokens(cache, append, own);
    throw error;
  }
}

export function forgetAppend(cache: EngineCache): void {
  notes.delete(cache);
}

/** The append that was the last change of the cache; undefined if there is none. */
export function lastAppend(cache: EngineCache): Append | undefined {
  const note = notes.get(cache);
  return note?.appended.every((tokens, b) => tokens === cache.appended[b]) ? note : undefined;
}

/**
 * The settings of a call whose queries belong to the tokens of an append: its `queryLengths` are the lengths of the
 * append. That is so if the number of rows is the same, the call uses positions, and it gives neither queryLengths nor
 * queryOffset. A call that uses no positions keeps its settings, because its queries may belong to other tokens.
 *
 * @param turns - Whether queries are turned, or something is added to them, by their positions, or a ring shows each of them
 *   what its token sees.
 */
export function withLengthsOf(
  append: Append | undefined,
  settings: AttentionSettings,
  numQueries: number,
  turns: boolean,
): AttentionSettings {
  const isStated = settings.queryLengths ?? settings.queryOffset;
  if (isStated || !append?.lengths || append.numTokens !== numQueries) return settings;
  return standAtEnd(settings, turns) ? { ...settings, queryLengths: append.lengths } : settings;
}

/** Whether the call uses the queries' positions and counts them from the end of the keys. */
function standAtEnd(settings: AttentionSettings, turns: boolean): boolean {
  const { causal } = settings;
  if (causal !== "none") return causal === "lower-right";
  return turns || readPositions(settings);
}
