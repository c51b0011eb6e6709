import { OptionError, ShapeError } from "../errors/errors.js";
import { describe, isObject } from "../foreign/describe.js";
import { arrayKind } from "../foreign/typedArray.js";
import { elements, isShape } from "../tensor/plainTensor.js";

/** Tokens of one text. */
type Text = readonly number[] | Int32Array;

/**
 * Tokens: a list for one text, a list of lists for a batch, or a tensor of int32 `[S]` or `[B, S]`. Lists of a batch may
 * differ in length; the shorter ones are filled up at the end, and what fills them is hidden.
 */
export type Tokens = Text | readonly Text[] | { readonly data: Int32Array; readonly shape: readonly number[] };

/** Checked tokens. */
export interface TokenBatch {
  readonly data: Int32Array;
  /** `[S]` or `[B, S]`. */
  readonly shape: readonly number[];
  /** For each text, how many tokens it has; undefined if no text is filled up. */
  readonly lengths: readonly number[] | undefined;
}

/** A rule for the numbers of an argument. */
interface NumberRule {
  readonly operation: string;
  readonly argument: string;
  /** All numbers are below it. */
  readonly limit: number;
  /** What the limit is called. */
  readonly limitName: string;
}

/** Reads tokens, or other numbers of tokens. There must be at least one text, and one number in each. */
export function readTokens(rule: NumberRule, given: unknown): TokenBatch {
  const batch = isList(given) ? fromLists(given) : fromTensor(rule, given);
  if (batch.data.length === 0 || batch.lengths?.includes(0))
    throw new ShapeError(`${rule.operation}: ${rule.argument} must have at least one token in each text`);
  batch.data.forEach((number, n) => checkNumber(rule, number, n));
  return batch;
}

function fromLists(given: readonly unknown[] | Int32Array): TokenBatch {
  if (!Array.isArray(given) || !isList(given[0]))
    return { data: asIntegers(given), shape: [given.length], lengths: undefined };
  const texts = given.map((text) => asIntegers(text as ArrayLike<unknown>));
  const lengths = texts.map((text) => text.length);
  const longest = Math.max(...lengths);
  const data = new Int32Array(texts.length * longest);
  texts.forEach((text, n) => data.set(text, n * longest));
  const isFilledUp = lengths.some((length) => length < longest);
  return { data, shape: [texts.length, longest], lengths: isFilledUp ? lengths : undefined };
}

function fromTensor({ operation, argument }: NumberRule, given: unknown): TokenBatch {
  const { data, shape } = (isObject(given) ? given : {}) as Partial<Record<"data" | "shape", unknown>>;
  if (arrayKind(data) !== "Int32Array" || !isShape(shape) || shape.length < 1 || shape.length > 2)
    throw new OptionError(
      `${operation}: ${argument} must be a list of numbers, a list of such lists, or a tensor of an Int32Array ` +
        `[S] or [B, S], got ${describe(given)}`,
    );
  if (elements(shape) !== (data as Int32Array).length)
    throw new ShapeError(
      `${operation}: the product of ${argument}.shape must be data.length, ` +
        `got ${describe(shape)} and ${(data as Int32Array).length}`,
    );
  return { data: (data as Int32Array).slice(), shape: [...shape], lengths: undefined };
}

const isList = (value: unknown): value is readonly unknown[] | Int32Array =>
  Array.isArray(value) || arrayKind(value) === "Int32Array";

/** −1 for what is no integer: no rule allows it. */
const asIntegers = (list: ArrayLike<unknown>) =>
  Int32Array.from(Array.from(list), (value) => (Number.isSafeInteger(value) ? (value as number) : -1));

function checkNumber({ operation, argument, limit, limitName }: NumberRule, number: number, n: number): void {
  if (number >= 0 && number < limit) return;
  throw new OptionError(
    `${operation}: ${argument} must be integers from 0 to ${limitName} − 1, which is ${limit - 1}; ` +
      `number ${n} of them is not`,
  );
}
