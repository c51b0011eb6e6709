import { describe, isObject } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { arrayKind, isArray } from "../base/typedArray.js";
import { indices } from "../tensor/plainTensor.js";

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
export interface NumberRule {
  readonly operation: string;
  readonly argument: string;
  /** All numbers are below it. */
  readonly limit: number;
  /** What the limit is called. */
  readonly limitName: string;
  /** The largest length of a text, if the model has one: `config.maxLength`. */
  readonly maxLength?: number | undefined;
}

/** The largest number of tokens in a call. */
const MOST = 2 ** 22;

/**
 * Reads tokens, or other numbers of tokens, each once. There must be at least one text, and one number in each. Lengths are
 * checked before numbers are read, because a list can be as long as it likes.
 */
export function readTokens(rule: NumberRule, given: unknown): TokenBatch {
  const batch = guarded(rule.operation, rule.argument, () => {
    if (!isList(given)) return fromTensor(rule, given);
    return isList((given as ArrayLike<unknown>)[0]) ? textsIn(rule, given as ArrayLike<unknown>) : textIn(rule, given);
  });
  if (batch.data.length === 0 || batch.lengths?.includes(0))
    throw new ShapeError(`${rule.operation}: ${rule.argument} must have at least one token in each text`);
  return batch;
}

/** The numbers of a list, which may be empty. */
export function numbersIn(rule: NumberRule, name: string, list: object): number[] {
  const numbers = arrayKind(list) ? indices(rule.operation, name, list).data : (list as ArrayLike<unknown>);
  const { length } = numbers;
  checkLength(rule, length);
  return Array.from({ length }, (_, n) => checked(rule, name, n, numbers[n]));
}

function textIn(rule: NumberRule, given: object): TokenBatch {
  const data = Int32Array.from(numbersIn(rule, rule.argument, given));
  return { data, shape: [data.length], lengths: undefined };
}

function textsIn(rule: NumberRule, given: ArrayLike<unknown>): TokenBatch {
  const texts: number[][] = [];
  const { length } = given;
  let longest = 0;
  for (let n = 0; n < length; ++n) {
    const name = `${rule.argument}[${n}]`;
    const text = given[n];
    if (!isList(text))
      throw new OptionError(`${rule.operation}: ${name} must be a list of numbers, got ${describe(text)}`);
    texts.push(numbersIn(rule, name, text));
    longest = Math.max(longest, texts[n]!.length);
    if (texts.length * longest > MOST)
      throw new ShapeError(`${rule.operation}: ${rule.argument} may have at most ${MOST} numbers, got more`);
  }
  const data = new Int32Array(texts.length * longest);
  texts.forEach((text, n) => data.set(text, n * longest));
  const lengths = texts.map((text) => text.length);
  const isFilledUp = lengths.some((each) => each < longest);
  return { data, shape: [texts.length, longest], lengths: isFilledUp ? lengths : undefined };
}

function fromTensor(rule: NumberRule, given: unknown): TokenBatch {
  const { operation, argument } = rule;
  if (!isObject(given) || !("data" in given) || !("shape" in given))
    throw new OptionError(
      `${operation}: ${argument} must be a list of numbers, a list of such lists, or a tensor of an Int32Array ` +
        `[S] or [B, S], got ${describe(given)}`,
    );
  const { data, shape } = indices(operation, argument, given);
  if (shape.length < 1 || shape.length > 2)
    throw new ShapeError(`${operation}: ${argument}.shape must be [S] or [B, S], got ${describe(shape)}`);
  checkLength(rule, shape.at(-1)!);
  return {
    data: Int32Array.from(data, (number, n) => checked(rule, `${argument}.data`, n, number)),
    shape: [...shape],
    lengths: undefined,
  };
}

/** Whether a value is a list of numbers, as far as can be seen without reading it. */
const isList = (value: unknown): value is object => isArray(value) || arrayKind(value) === "Int32Array";

function checkLength({ operation, argument, maxLength }: NumberRule, length: number): void {
  const [limit, name] = maxLength === undefined ? [MOST, ""] : [maxLength, "config.maxLength = "];
  if (length > limit)
    throw new ShapeError(`${operation}: ${argument} must be at most ${name}${limit} long, got ${length}`);
}

function checked({ operation, limit, limitName }: NumberRule, list: string, n: number, value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < limit) return value as number;
  throw new OptionError(
    `${operation}: ${list}[${n}] must be an integer from 0 to ${limitName} − 1, which is ${limit - 1}, got ${describe(value)}`,
  );
}
