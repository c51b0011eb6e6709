import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import type { SequencePositions } from "../attention/callPositions.js";
import { OptionError } from "../base/errors.js";
import type { CacheForm } from "./cacheProblem.js";
import { gainsTokens, heldLength } from "./heldTokens.js";
import type { KeptTokens } from "./keptTokens.js";

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

/** An append, and where its tokens stand: `[B, S]`; undefined: at their indices. */
export interface OwnAppend {
  readonly numTokens: number;
  readonly lengths: Int32Array | undefined;
  readonly own: Int32Array | undefined;
}

type Form = Pick<CacheForm, "ring">;

/** What the positions of a cache depend on. */
interface Held {
  readonly form: Form;
  readonly appended: readonly number[];
}

const notes = new WeakMap<Held, OwnPositions>();

/** The positions of a cache's tokens; undefined: all stand at their indices. */
export function ownPositions(cache: Held): OwnPositions | undefined {
  const own = notes.get(cache);
  return own && extended(own, cache.form, cache.appended);
}

/** Remembers the positions. A cache without tokens has none. */
export function keepOwnPositions(cache: Held, own: OwnPositions | undefined): void {
  if (own?.appended.some((total) => total > 0)) notes.set(cache, own);
  else notes.delete(cache);
}

/** The positions after an append, in a cache of this form. */
export function grownPositions(
  cache: Held,
  { numTokens, lengths, own: given }: OwnAppend,
  form: Form = cache.form,
): OwnPositions | undefined {
  const before =
    ownPositions(cache) ??
    (given && gainsTokens(numTokens, lengths) ? indexPositions(cache.form, cache.appended) : undefined);
  if (!before) return undefined;
  const appended = before.appended.map((total, b) => total + (lengths?.[b] ?? numTokens));
  return extended(before, form, appended, given && ((b, n) => given[b * numTokens + n]!));
}

/** Positions of tokens that all stand at their indices. */
export function indexPositions(form: Form, appended: readonly number[]): OwnPositions {
  const none = appended.map(() => 0);
  return extended({ appended: none, rows: none.map(() => new Int32Array()), origins: none }, form, appended);
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

export function selectedPositions({ appended, rows, origins }: OwnPositions, indices: Int32Array): OwnPositions {
  const select = <T>(list: readonly T[]) => Array.from(indices, (b) => list[b]!);
  return { appended: select(appended), rows: select(rows).map((held) => held.slice()), origins: select(origins) };
}

/**
 * The positions after `keep`: a token stays where it stands. If the first tokens of a batch go, the index of a token is less by
 * their number, which is added to the index of later ones.
 */
export function keptPositions(own: OwnPositions, { from, counts, rows }: KeptTokens): OwnPositions {
  let at = 0;
  const origins = [...own.origins];
  const left = own.rows.map((held, b) => {
    const chosen = rows.subarray(at, (at += counts[b]!));
    if (from[b]! + chosen.length === own.appended[b]!) return held; // no token goes; a ring may have dropped some before
    if (from[b] === 0) origins[b]! += chosen[0] ?? 0;
    return Int32Array.from(
      [...held.subarray(0, from[b]), ...chosen].map((n, i) => (i < from[b]! ? n : held[from[b]! + n]!)),
    );
  });
  return { appended: left.map((_, b) => from[b]! + counts[b]!), rows: left, origins };
}

/** The positions in a slice: a token stays where it stands, and later ones follow as they would in the whole cache. */
export function slicedPositions({ appended, rows, origins }: OwnPositions, from: number, to: number): OwnPositions {
  const part = rows.map((held) => held.slice(from, to));
  return {
    appended: part.map(({ length }) => length),
    rows: part,
    origins: part.map(({ length }, b) => {
      const cut = rows[b]!.length - Math.min(to, rows[b]!.length); // the tokens held after the slice
      return origins[b]! + appended[b]! - cut - length;
    }),
  };
}

/** The settings of a call, with what its ALiBi reads: where the tokens of the cache stand, and the queries. */
export function withAlibiPositions(
  settings: AttentionSettings,
  given: Int32Array | undefined,
  own: OwnPositions | undefined,
  at: {
    readonly form: Form;
    readonly appended: readonly number[];
    readonly sequences: readonly SequencePositions[];
    readonly shape: AttentionShape;
  },
): AttentionSettings {
  if (!settings.alibiSlopes || (!own && !given)) return settings;
  const { rows, origins } = own ?? indexPositions(at.form, at.appended);
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
// bytes and their sum, for each batch the number of rows and the origin, then all rows, 4 bytes each. They come first so that a
// file that was cut, wherever, lacks bytes that its beginning promises.

const MAGIC = [0x89, 0x48, 0x57, 0x4b, 0x50, 0x0d, 0x0a, 0x1a];
const BEGINNING = MAGIC.length + 8;

/** Adds the positions to a saved cache. */
export function withOwnPositions(saved: Uint8Array, own: OwnPositions | undefined): Uint8Array {
  if (!own) return saved;
  const numbers = own.rows.flatMap(({ length }, b) => [length, own.origins[b]!]);
  const size = 4 * (numbers.length + own.rows.reduce((count, { length }) => count + length, 0));
  const bytes = new Uint8Array(BEGINNING + size + saved.length);
  const view = new DataView(bytes.buffer);
  let at = BEGINNING;
  const write = (number: number) => {
    view.setInt32(at, number, true);
    at += 4;
  };
  numbers.forEach(write);
  for (const rows of own.rows) rows.forEach(write);
  bytes.set(MAGIC);
  view.setInt32(MAGIC.length, size, true);
  view.setUint32(MAGIC.length + 4, sumOf(bytes.subarray(BEGINNING, at)), true);
  bytes.set(saved, at);
  return bytes;
}

/** Takes a saved cache apart. The returned function gives the positions that a cache made of `saved` has. */
export function splitSaved(
  operation: string,
  bytes: Uint8Array,
): { readonly saved: Uint8Array; readonly ownOf: (cache: Held) => OwnPositions | undefined } {
  if (bytes.length < BEGINNING || MAGIC.some((byte, n) => bytes[n] !== byte))
    return { saved: bytes, ownOf: () => undefined };
  const corrupt = (why: string) => new OptionError(`${operation}: the saved cache ${why}`, { code: "CORRUPT_DATA" });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = view.getInt32(MAGIC.length, true);
  const end = BEGINNING + size;
  if (size < 0 || size % 4 !== 0 || end > bytes.length) throw corrupt("is damaged: its positions do not fit");
  if (sumOf(bytes.subarray(BEGINNING, end)) !== view.getUint32(MAGIC.length + 4, true))
    throw corrupt("is damaged: the sum of its positions is wrong");
  const number = (n: number) => view.getInt32(BEGINNING + 4 * n, true);
  const ownOf = ({ form, appended }: Held): OwnPositions => {
    const held = appended.map((total, b) => heldLength(form, total, b));
    const counts = 2 * appended.length + held.reduce((sum, length) => sum + length, 0);
    if (4 * counts !== size || held.some((length, b) => number(2 * b) !== length))
      throw corrupt("is damaged: its positions are not those of its tokens");
    let at = 2 * appended.length;
    const rows = held.map((length) => Int32Array.from({ length }, () => number(at++)));
    return { appended: [...appended], rows, origins: held.map((_, b) => number(2 * b + 1)) };
  };
  return { saved: bytes.subarray(end), ownOf };
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
