import { describe, isObject, tagOf } from "../base/describe.js";
import { OptionError } from "../base/errors.js";

/** The longest chain of prototypes that options may have. A proxy can make an endless one. */
const MAX_PROTOTYPES = 32;

/**
 * Reads the properties of an object of options, each once: its own and inherited ones, but not those of Object.prototype.
 * undefined has none.
 *
 * @param names - The known names. Accessors of a class are not enumerable: they are read only if their names are here.
 * @throws What an accessor or a proxy of the caller throws.
 */
export function readRecord(
  operation: string,
  argument: string,
  value: unknown,
  names: readonly string[],
): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  if (value === undefined) return values;
  if (!isObject(value) || tagOf(value) !== "Object" || Array.isArray(value))
    throw new OptionError(`${operation}: ${argument} must be an object, got ${describe(value)}`);
  for (const holder of holdersOf(operation, argument, value))
    for (const name of namesIn(holder, names))
      if (!values.has(name)) values.set(name, (value as Record<string, unknown>)[name]);
  return values;
}

/** The object and all its prototypes, except the root prototype. */
function holdersOf(operation: string, argument: string, value: object): object[] {
  const chain: object[] = [];
  let holder: object | null = value;
  while (holder && (chain.length === 0 || !isRoot(holder))) {
    if (chain.push(holder) > MAX_PROTOTYPES)
      throw new OptionError(`${operation}: ${argument} must be a plain object, got one that inherits without end`);
    holder = Object.getPrototypeOf(holder) as object | null;
  }
  return chain;
}

/** The names of an object's own properties: all enumerable ones, and the others that are in `known`. */
function namesIn(holder: object, known: readonly string[]): readonly string[] {
  const shown = Object.keys(holder);
  const all = Object.getOwnPropertyNames(holder);
  return all.length === shown.length ? shown : all.filter((name) => shown.includes(name) || known.includes(name));
}

/** Whether an object is the Object.prototype of some realm. */
export function isRoot(holder: object): boolean {
  return Object.getPrototypeOf(holder) === null && Object.hasOwn(holder, "isPrototypeOf");
}
