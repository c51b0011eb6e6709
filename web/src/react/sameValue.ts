import { isObject } from "../base/describe.js";
import { arrayKind } from "../base/typedArray.js";

/**
 * Whether two inputs are equal. Plain objects, arrays and typed arrays are equal if what they hold is; an undefined
 * property counts as absent. Functions and instances of classes are equal only if they are the same.
 */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (isList(a) && isList(b)) return kindOf(a) === kindOf(b) && sameElements(a, b);
  return isPlain(a) && isPlain(b) && sameProperties(a, b);
}

const isList = (value: object): value is ArrayLike<unknown> => kindOf(value) !== undefined;

const kindOf = (value: object) => (Array.isArray(value) ? "Array" : arrayKind(value));

function sameElements(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  if (a.length !== b.length) return false;
  for (let n = 0; n < a.length; ++n) if (!sameValue(a[n], b[n])) return false;
  return true;
}

type Properties = Readonly<Record<string, unknown>>;

function sameProperties(a: Properties, b: Properties): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => sameValue(a[name], b[name]));
}

/** Whether an object is of no class. It may come from another realm. */
function isPlain(value: object): value is Properties {
  if (isList(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
