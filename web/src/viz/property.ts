import { describe, isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { isArray } from "../base/typedArray.js";
import { CallArguments } from "../read/callArguments.js";
import { argument, isList, type OptionReader } from "../read/options.js";

// These functions read values that a page assigns to properties of an element. undefined and null mean the default. A
// wrong value is an OptionError.

/** More texts than any axis has cells. */
const MOST_TEXTS = 2 ** 24;

/** Reads a value like an option of that name. */
export function assigned(element: string, name: string, value: unknown): OptionReader {
  return argument(new CallArguments(element), name, value ?? undefined);
}

export function readChoice<V extends string>(element: string, name: string, value: unknown, choices: readonly V[]) {
  const option = assigned(element, name, value);
  return option.has(name) ? option.oneOf(name, choices, choices[0]!) : undefined;
}

/** Reads an index. It is not compared with the number of items. */
export function readIndex(element: string, name: string, value: unknown): number | undefined {
  return assigned(element, name, value).integer(name, { min: 0 });
}

export function readText(element: string, name: string, value: unknown): string | undefined {
  const option = assigned(element, name, value);
  const text = option.value(name);
  if (text !== undefined && typeof text !== "string") throw option.refuse(name, "be a string");
  return text;
}

/** A frozen copy of a list of texts. */
export function readTexts(element: string, name: string, value: unknown): readonly string[] {
  const option = assigned(element, name, value);
  if (!option.has(name)) return [];
  const list = option.value(name);
  if (!isArray(list)) throw option.refuse(name, "be a list of strings");
  const checkLength = (length: number) => {
    if (length > MOST_TEXTS)
      throw new OptionError(`${option.at(name)} must have at most ${MOST_TEXTS} entries, got ${length}`);
  };
  const texts = option.call.list(name, list, checkLength, (text, n) => {
    if (typeof text === "string") return text;
    throw new OptionError(`${option.at(name)}[${n}] must be a string, got ${describe(text)}`);
  });
  return Object.freeze(texts);
}

export function readFunction<F>(element: string, name: string, value: F | null | undefined): F | undefined {
  const option = assigned(element, name, value);
  return option.callback(name) as F | undefined;
}

/**
 * A frozen copy of two finite numbers.
 *
 * @param rule - The expected form, for messages.
 */
export function readPair(call: CallArguments, path: string, value: unknown, rule: string): readonly [number, number] {
  const refuse = () => new OptionError(`${call.operation}: ${path} must be ${rule}, got ${describe(value)}`);
  if (!isList(value)) throw refuse();
  const checkLength = (length: number) => {
    if (length !== 2) throw refuse();
  };
  const [first, second] = call.list(path, value, checkLength, (number, n) => {
    if (typeof number === "number" && Number.isFinite(number)) return number;
    throw new OptionError(`${call.operation}: ${path}[${n}] must be a finite number, got ${describe(number)}`);
  });
  return Object.freeze([first!, second!] as const);
}

/** Reads the named fields of an object. Other fields are allowed. */
export function readFields<K extends string>(
  option: OptionReader,
  name: string,
  names: readonly K[],
  rule: string,
): Readonly<Record<K, unknown>> {
  const value = option.value(name);
  if (!isObject(value)) throw option.refuse(name, `be ${rule}`);
  const fields = option.call.guarded(name, () => names.map((key) => [key, (value as Record<string, unknown>)[key]]));
  return Object.fromEntries(fields) as Record<K, unknown>;
}
