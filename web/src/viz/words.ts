import type { Kind } from "./colours.js";
import { texts } from "./texts.js";

/** What is known about a cell. */
export interface CellReading {
  readonly head: number;
  readonly query: number;
  readonly key: number;
  /** The exact number; undefined if its row has not arrived. */
  readonly value: number | undefined;
  readonly hidden: boolean;
  readonly locked: boolean;
}

/** The tokens of both axes. A missing token is shown as its position. */
export interface Tokens {
  readonly queries: readonly string[];
  readonly keys: readonly string[];
}

/** A sentence about a cell. */
export function sentence(reading: CellReading, kind: Kind, tokens: Tokens): string {
  const { query, key, value, hidden } = reading;
  const from = named("query", tokens.queries, query);
  const to = named("key", tokens.keys, key);
  if (hidden) return texts().cellHidden(from, to);
  if (value === undefined) return texts().cellPending(from, to);
  if (Number.isNaN(value)) return texts().cellNotANumber(from, to);
  if (kind === "scores") return texts().cellScore(from, to, number(value));
  return texts().cellWeight(from, to, percent(value));
}

/** What a cell shows: its number, or why there is none. */
export function shown({ value, hidden }: CellReading, kind: Kind): string {
  if (hidden) return texts().hidden;
  return value === undefined ? texts().pending : amount(value, kind);
}

/** “cat”; “park” (3) if the token occurs more than once; query 3 if there is no token. */
export function named(axis: "query" | "key", tokens: readonly string[], index: number): string {
  const token = tokens[index];
  return token === undefined ? texts()[axis](index) : numbered(tokens, index, texts().token);
}

/** The text for a token, with its position from 0 if the token occurs more than once. */
export function numbered(tokens: readonly string[], index: number, textOf = (token: string) => token): string {
  const token = tokens[index]!;
  const text = token === "" ? texts().emptyToken : textOf(apart(token));
  return repeated(tokens).has(token) ? `${text} (${index})` : text;
}

/** Hebrew, Arabic and the other scripts that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** A token that does not turn the words and numbers beside it: one from right to left stands between isolates. */
function apart(token: string): string {
  return RIGHT_TO_LEFT.test(token) ? `\u2068${token}\u2069` : token;
}

const counted = new WeakMap<readonly string[], ReadonlySet<string>>();

/** The tokens that occur more than once. A list is counted once: the elements keep frozen copies. */
function repeated(tokens: readonly string[]): ReadonlySet<string> {
  let twice = counted.get(tokens);
  if (!twice) {
    const seen = new Set<string>();
    twice = new Set(tokens.filter((token) => seen.has(token) || !seen.add(token)));
    counted.set(tokens, twice);
  }
  return twice;
}

/** A percentage with at most four significant digits. */
export function percent(value: number): string {
  if (Number.isNaN(value)) return texts().notANumber;
  return value > 0 && value < 1e-6 ? texts().nearlyNothing : texts().percent(number(100 * value));
}

/** A number of this kind: a percentage, or a score. */
export function amount(value: number, kind: Kind): string {
  return kind === "probs" ? percent(value) : number(value);
}

/** A number with at most four significant digits. */
export function number(value: number): string {
  if (Number.isNaN(value)) return texts().notANumber;
  return written(String(Number(value.toPrecision(4))).replace("Infinity", "∞"));
}

/** The digits of a number with the page's decimal sign and true minus signs. */
export function written(digits: string): string {
  return digits.replace(".", texts().decimalSign).replaceAll("-", "−");
}
