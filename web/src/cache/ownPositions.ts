import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import type { SequencePositions } from "../attention/callPositions.js";
import { OptionError } from "../base/errors.js";
import { LEAST_POSITION, type TokenPositions } from "../position/tokenPositions.js";
import type { CacheForm } from "./cacheProblem.js";
import { gainsTokens, heldLength } from "./heldTokens.js";
import { rowsOfBatches, type KeptTokens } from "./keptTokens.js";

/**
 * Where the tokens of a cache stand, if any was given a position. The cache keeps it for ALiBi: a key that is turned
 * shows where it stands, other keys do not.
 */
export interface OwnPositions {
  /** For each batch: how many tokens were appended and not removed. */
  readonly appended: readonly number[];
  /** For each batch: the position of each token held, in order of the key rows. */
  readonly rows: readonly Int32Array[];
  /** For each batch: what is added to the index of a token that is given no position. */
  readonly origins: readonly number[];
}

/** In place of the position of a token that was given three: ALiBi's distances are of one number. */
const THREE = LEAST_POSITION - 1;

/** An append, and where its tokens stand: `[B, S]`; undefined: at their indices. */
export interface OwnAppend {
  readonly numTokens: number;
  readonly lengths: Int32Array | undefined;
  readonly own: Int32Array | undefined;
}

type Form = Pick<CacheForm, "ring">;

/** What the positions of a cache depend on. */
interface Held {
  readonly form: Pick<CacheForm, "ring" | "rotary">;
  readonly appended: readonly number[];
}

const notes = new WeakMap<Held, OwnPositions>();

/** The origins of rotary caches whose tokens were given no positions, as the engines keep them for the angles. */
const turning = new WeakMap<Held, readonly number[]>();

/** What a cache keeps of the positions that tokens were given, `[B, S]`. */
export function ownOf(given: TokenPositions | undefined): Int32Array | undefined {
  return given && given.planes > 1 ? new Int32Array(given.data.length / given.planes).fill(THREE) : given?.data;
}

/** The positions of a cache's tokens; undefined: all stand at their indices. */
export function ownPositions(cache: Held): OwnPositions | undefined {
  const own = notes.get(cache);
  return own && extended(own, cache.form, cache.appended);
}

/** Remembers the positions. A cache without tokens has none. */
export function keepOwnPositions(cache: Held, own: OwnPositions | undefined): void {
  if (own?.appended.some((total) => total > 0)) notes.set(cache, own);
  else notes.delete(cache);
  if (own) keepOrigins(cache, own.origins);
}

/** For each batch: what is added to the index of a token that is given no position. Only angles, and notes, stand elsewhere. */
export function originsOf(cache: Held): readonly number[] {
  return ownPositions(cache)?.origins ?? turning.get(cache) ?? cache.appended.map(() => 0);
}

/** Remembers the origins of a cache, if it turns keys. */
export function keepOrigins(cache: Held, origins: readonly number[]): void {
  if (cache.form.rotary) turning.set(cache, origins);
}

/** The positions after an append, in a cache of this form. */
export function grownPositions(
  cache: Held,
  { numTokens, lengths, own: given }: OwnAppend,
  form: Form = cache.form,
): OwnPositions | undefined {
  const before =
    ownPositions(cache) ??
    (given && gainsTokens(numTokens, lengths)
      ? indexPositions(cache.form, cache.appended, originsOf(cache))
      : undefined);
  if (!before) return undefined;
  const appended = before.appended.map((total, b) => total + (lengths?.[b] ?? numTokens));
  return extended(before, form, appended, given && ((b, n) => given[b * numTokens + n]!));
}

/** Positions of tokens that all stand at their indices, from these origins on. */
function indexPositions(form: Form, appended: readonly number[], origins: readonly number[]): OwnPositions {
  const none = appended.map(() => 0);
  return extended({ appended: none, rows: none.map(() => new Int32Array()), origins }, form, appended);
}

/**
 * The same after more tokens. A ring drops its oldest ones.
 *
 * @param given - Where new token n of a batch stands. Default: at its index.
 */
function extended(
  { appended: before, rows, origins }: OwnPositions,
  form: Form,
  appended: readonly number[],
  given = (b: number, n: number) => origins[b]! + before[b]! + n,
): OwnPositions {
  return {
    appended: [...appended],
    rows: rows.map((old, b) => {
      const all = new Int32Array(old.length + appended[b]! - before[b]!);
      all.set(old);
      for (let j = old.length; j < all.length; ++j) all[j] = given(b, j - old.length);
      const held = heldLength(form, appended[b]!, b);
      if (held === all.length) return all;
      const kept = Math.min(form.ring?.keepFirst ?? 0, held);
      const left = new Int32Array(held);
      left.set(all.subarray(0, kept));
      left.set(all.subarray(all.length - (held - kept)), kept);
      return left;
    }),
    origins,
  };
}

/** The positions after a rewind to these lengths. It leaves the first rows: none that a ring has dropped is needed again. */
export function rewoundPositions(own: OwnPositions, form: Form, lengths: ArrayLike<number>): OwnPositions {
  const appended = own.appended.map((_, b) => lengths[b]!);
  const rows = own.rows.map((held, b) => held.slice(0, heldLength(form, appended[b]!, b)));
  return { ...own, appended, rows };
}

/** An edit of what is remembered of a cache: of its origins, and of the positions of its tokens, if any was given one. */
export interface Edit {
  readonly origins: (origins: readonly number[], held: Held) => readonly number[];
  readonly rows: (own: OwnPositions) => readonly Int32Array[];
}

/**
 * What is remembered of a cache before an edit. The function that it returns remembers it, edited, of the cache after it:
 * of the same one, or of a part.
 */
export function beforeEdit(cache: Held): (after: Held, edit: Edit) => void {
  const own = ownPositions(cache);
  const origins = originsOf(cache);
  const held = { form: cache.form, appended: [...cache.appended] };
  return (after, edit) => {
    const moved = edit.origins(origins, held);
    if (own) keepOwnPositions(after, { appended: [...after.appended], rows: edit.rows(own), origins: moved });
    else keepOrigins(after, moved);
  };
}

/** Every token stays. */
export const COPIED: Edit = { origins: (origins) => origins, rows: ({ rows }) => rows };

export function selecting(indices: Int32Array): Edit {
  const select = <T>(list: readonly T[]) => Array.from(indices, (b) => list[b]!);
  return { origins: select, rows: ({ rows }) => select(rows).map((held) => held.slice()) };
}

/**
 * `keep`: a token stays where it stands. If the first tokens of a batch go, the index of a token is less by their number,
 * which is added to the index of later ones.
 */
export function keeping(tokens: KeptTokens): Edit {
  const { from } = tokens;
  const chosen = rowsOfBatches(tokens);
  return {
    origins: (origins) => origins.map((origin, b) => origin + (from[b] === 0 ? (chosen[b]![0] ?? 0) : 0)),
    rows: (own) =>
      own.rows.map((held, b) => {
        if (from[b]! + chosen[b]!.length === own.appended[b]!) return held; // no token goes; a ring may have dropped some before
        return Int32Array.from([...held.subarray(0, from[b]), ...Array.from(chosen[b]!, (n) => held[from[b]! + n]!)]);
      }),
  };
}

/** A slice: a token stays where it stands, and later ones follow the last of them. */
export function slicing(from: number, to: number): Edit {
  return {
    origins: (origins, { form, appended }) =>
      origins.map((origin, b) => {
        const held = heldLength(form, appended[b]!, b);
        const end = Math.min(to, held);
        const isAfterGap = end > (form.ring?.keepFirst ?? 0);
        const endPosition = isAfterGap ? end + appended[b]! - held : end;
        return origin + endPosition - Math.max(end - from, 0);
      }),
    rows: ({ rows }) => rows.map((held) => held.slice(from, to)),
  };
}

/**
 * The settings of a call, with what its ALiBi reads: where the tokens of the cache stand, and the queries.
 *
 * @throws OptionError if a token of the cache stands at three positions.
 */
export function withAlibiPositions(
  operation: string,
  settings: AttentionSettings,
  given: Int32Array | undefined,
  own: OwnPositions | undefined,
  at: {
    readonly form: Form;
    readonly appended: readonly number[];
    readonly origins: readonly number[];
    readonly sequences: readonly SequencePositions[];
    readonly shape: AttentionShape;
  },
): AttentionSettings {
  if (!settings.alibiSlopes || (!own && !given)) return settings;
  const { rows, origins } = own ?? indexPositions(at.form, at.appended, at.origins);
  if (rows.some((held) => held.includes(THREE)))
    throw new OptionError(
      `${operation}: alibiSlopes must be absent: tokens of the cache were given positions of three planes`,
      { hint: "Its distances are of one number." },
    );
  const { keyLength, queryLength } = at.shape;
  const alibiKeyPositions = new Int32Array(rows.length * keyLength);
  rows.forEach((held, b) => alibiKeyPositions.set(held, b * keyLength));
  const alibiQueryPositions = given ?? new Int32Array(rows.length * queryLength);
  if (!given)
    at.sequences.forEach(({ offset }, b) => {
      for (let i = 0; i < queryLength; ++i) alibiQueryPositions[b * queryLength + i] = offset + i + origins[b]!;
    });
  return { ...settings, alibiQueryPositions, alibiKeyPositions };
}

// A saved cache is the engine's bytes. If tokens were given positions, these come first: a magic number, the number of their
// bytes and their sum, for each batch the number of rows and the origin, then all rows, 4 bytes each. A rotary cache whose
// tokens were given none has origins alone, if one is not 0; its numbers of rows are −1. They come first so that a file that
// was cut, wherever, lacks bytes that its beginning promises.

const MAGIC = [0x89, 0x48, 0x57, 0x4b, 0x50, 0x0d, 0x0a, 0x1a];
const BEGINNING = MAGIC.length + 8;

const NO_ROWS = -1;

/** Adds the positions of the cache to its saved bytes. */
export function withOwnPositions(saved: Uint8Array, cache: Held): Uint8Array {
  const own = ownPositions(cache);
  const origins = originsOf(cache);
  if (!own && origins.every((origin) => origin === 0)) return saved;
  const allRows = own?.rows ?? [];
  const numbers = origins.flatMap((origin, b) => [allRows[b]?.length ?? NO_ROWS, origin]);
  const size = 4 * (numbers.length + allRows.reduce((count, { length }) => count + length, 0));
  const bytes = new Uint8Array(BEGINNING + size + saved.length);
  const view = new DataView(bytes.buffer);
  let at = BEGINNING;
  const write = (number: number) => {
    view.setInt32(at, number, true);
    at += 4;
  };
  numbers.forEach(write);
  for (const rows of allRows) rows.forEach(write);
  bytes.set(MAGIC);
  view.setInt32(MAGIC.length, size, true);
  view.setUint32(MAGIC.length + 4, sumOf(bytes.subarray(BEGINNING, at)), true);
  bytes.set(saved, at);
  return bytes;
}

/** Takes a saved cache apart. The returned function remembers the positions of the cache that was made of `saved`. */
export function splitSaved(
  operation: string,
  bytes: Uint8Array,
): { readonly saved: Uint8Array; readonly remember: (cache: Held) => void } {
  if (bytes.length < BEGINNING || MAGIC.some((byte, n) => bytes[n] !== byte))
    return { saved: bytes, remember: () => undefined };
  const corrupt = (why: string) => new OptionError(`${operation}: the saved cache ${why}`, { code: "CORRUPT_DATA" });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = view.getInt32(MAGIC.length, true);
  const end = BEGINNING + size;
  if (size < 0 || size % 4 !== 0 || end > bytes.length) throw corrupt("is damaged: its positions do not fit");
  if (sumOf(bytes.subarray(BEGINNING, end)) !== view.getUint32(MAGIC.length + 4, true))
    throw corrupt("is damaged: the sum of its positions is wrong");
  const number = (n: number) => view.getInt32(BEGINNING + 4 * n, true);
  const remember = (cache: Held): void => {
    const { form, appended } = cache;
    const origins = appended.map((_, b) => number(2 * b + 1));
    if (form.rotary && size === 8 * appended.length && appended.every((_, b) => number(2 * b) === NO_ROWS))
      return keepOrigins(cache, origins);
    const held = appended.map((total, b) => heldLength(form, total, b));
    const counts = 2 * appended.length + held.reduce((sum, length) => sum + length, 0);
    if (4 * counts !== size || held.some((length, b) => number(2 * b) !== length))
      throw corrupt("is damaged: its positions are not those of its tokens");
    let at = 2 * appended.length;
    const rows = held.map((length) => Int32Array.from({ length }, () => number(at++)));
    keepOwnPositions(cache, { appended: [...appended], rows, origins });
  };
  return { saved: bytes.subarray(end), remember };
}

/** A checksum (Fletcher): the order of the bytes counts. */
function sumOf(bytes: Uint8Array): number {
  let [low, high] = [1, 0];
  for (const byte of bytes) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  return high * 65536 + low;
}
