import { CallArguments } from "../read/callArguments.js";
import { readOptions, type OptionReader } from "../read/options.js";
import type { OtherName } from "../read/otherNames.js";

/** All names of an interface. The compiler checks that none is missing. */
export type Names<T> = Readonly<Record<keyof T, true>>;

/** The options of a call as they were given, and the reader that checks them. */
export interface Known<T> {
  readonly known: T;
  readonly reader: OptionReader;
}

/**
 * Reads an object of options, each option once.
 *
 * @param others - The names that other packages have for these options. Default: those for attention.
 * @throws OptionError if it has an unknown name, or is no object.
 */
export function readKnown<T extends object>(
  operation: string,
  given: T | undefined,
  names: Names<T>,
  others?: readonly OtherName[],
): Known<T> {
  const reader = readOptions(new CallArguments(operation), given, Object.keys(names), "", undefined, others);
  const present = Object.keys(names).filter((name) => reader.has(name));
  return { known: Object.fromEntries(present.map((name) => [name, reader.value(name)])) as T, reader };
}
