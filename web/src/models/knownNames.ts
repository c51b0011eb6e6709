import { readRecord } from "../call/record.js";
import { suggestion } from "../call/suggestion.js";
import { OptionError } from "../errors/errors.js";
import { guarded } from "../errors/guarded.js";
import { describe } from "../foreign/describe.js";

/** All names of an interface. The compiler checks that none is missing. */
export type Names<T> = Readonly<Record<keyof T, true>>;

/**
 * Reads an object of options, each option once.
 *
 * @throws OptionError if it has an unknown name, or is no object.
 */
export function readKnown<T extends object>(operation: string, given: T | undefined, names: Names<T>): T {
  const known = Object.keys(names);
  const values = guarded(operation, "options", () => readRecord(operation, "options", given, known));
  for (const name of values.keys())
    if (!known.includes(name))
      throw new OptionError(`${operation}: ${describe(name)} is no option`, { hint: suggestion(name, known) });
  return Object.fromEntries([...values].filter(([, value]) => value !== undefined)) as T;
}
