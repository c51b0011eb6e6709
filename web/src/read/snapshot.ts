import { isObject, tagOf } from "../base/describe.js";
import { isSignal } from "./abort.js";
import { isRoot } from "./record.js";

/** Options have at most this many objects inside of each other. */
const MOST_DEPTH = 8;

/** A longer array is no list of options. */
const MOST_ELEMENTS = 2 ** 16;

/**
 * A copy of plain objects and arrays, with all that is plain inside of them. Everything else is shared: tensors, typed
 * arrays, functions, objects of a class. What cannot be copied stays as it is, so that whoever reads it gets the error.
 *
 * A call whose code has still to be loaded keeps its arguments like this: what the caller changes meanwhile changes
 * nothing.
 */
export function snapshot<T>(value: T, depth = 0): T {
  if (depth > MOST_DEPTH) return value;
  try {
    if (Array.isArray(value)) return copyOfArray(value, depth) as T;
    return isPlain(value) && !isKnown(value) ? (copyOfObject(value, depth) as T) : value;
  } catch {
    return value; // a getter or a proxy of the caller throws
  }
}

function copyOfArray(array: readonly unknown[], depth: number): readonly unknown[] {
  return array.length > MOST_ELEMENTS ? array : Array.from(array, (element) => snapshot(element, depth + 1));
}

function copyOfObject(object: object, depth: number): object {
  const fields = Object.entries({ ...object }).map(([name, field]) => [name, snapshot(field, depth + 1)]);
  return Object.fromEntries(fields) as object;
}

/** Whether it is a tensor, since a result is the very tensor that was given as `into`, or a signal. */
const isKnown = (value: object): boolean => ["data", "buffer", "addEventListener"].some((name) => name in value);

/** Whether it is an object that a literal made, here or in another realm. */
function isPlain(value: unknown): value is object {
  if (!isObject(value) || tagOf(value) !== "Object") return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || isRoot(prototype);
}

/** The signal in a call's arguments, of which the last are its options. What is no signal is refused when they are read. */
export function signalIn(given: readonly unknown[]): AbortSignal | undefined {
  const options = given.at(-1);
  try {
    return isObject(options) && "signal" in options && isSignal(options.signal) ? options.signal : undefined;
  } catch {
    return undefined;
  }
}
