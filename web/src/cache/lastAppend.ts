import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { EngineCache } from "./engineCache.js";

/** An append as its queries may refer to it. */
export interface Append {
  /** Rows that were given for every batch. */
  readonly numTokens: number;
  /** How many leading rows of each batch are tokens; the others are padding. undefined: all are tokens. */
  readonly lengths: Int32Array | undefined;
}

interface Note extends Append {
  /** Tokens ever appended, by batch, right after it. */
  readonly appended: readonly number[];
}

const notes = new WeakMap<EngineCache, Note>();

/** Notes what a cache has just gained. */
export function noteAppend(cache: EngineCache, { numTokens, lengths }: Append): void {
  notes.set(cache, { numTokens, lengths, appended: cache.appended });
}

export function forgetAppend(cache: EngineCache): void {
  notes.delete(cache);
}

/** The append that brought the cache to what it holds; undefined if something else has changed the cache since. */
export function lastAppend(cache: EngineCache): Append | undefined {
  const note = notes.get(cache);
  return note?.appended.every((tokens, b) => tokens === cache.appended[b]) ? note : undefined;
}

/**
 * The settings of a call whose queries are those of an append: as many rows, and the call says neither where they stand
 * nor how many of each batch there are. What was padding in the append is padding in the call. Calls that ask for no
 * position stay as they are: queries of other tokens may be as many by chance.
 *
 * @param turns - Whether queries are turned, or get something added, by their positions.
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

/** Whether a rule of the call asks where the queries stand, and the end of the keys is the answer. */
function standAtEnd({ causal, window, alibiSlopes, excludeSelf }: AttentionSettings, turns: boolean): boolean {
  if (causal !== "none") return causal === "lower-right";
  return turns || excludeSelf || alibiSlopes !== undefined || window.left !== undefined || window.right !== undefined;
}
