import { arrayKind, placeOf } from "./typedArray.js";

const LONGEST_LIST = 8;

/** Lists are shown to this depth, because a list may contain itself. */
const DEEPEST_LIST = 2;
const LONGEST_TEXT = 200;

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** A short text with the type and value of any value, for error messages. It never throws. */
export function describe(value: unknown): string {
  try {
    return described(value, DEEPEST_LIST);
  } catch {
    return "an object that cannot be read";
  }
}

function described(value: unknown, depth: number): string {
  switch (typeof value) {
    case "object":
      return value === null ? "null" : describedObject(value, depth);
    case "function":
    case "symbol":
      return `a ${typeof value}`;
    case "string":
      return JSON.stringify(value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value);
    case "bigint":
      return `${value}n`;
    default:
      return String(value);
  }
}

function describedObject(value: object, depth: number): string {
  if (Array.isArray(value)) return describedList(value, depth);
  const kind = arrayKind(value);
  if (kind) return `${withArticle(kind)} of ${placeOf(value).length}`;
  const tag = tagOf(value);
  if (tag !== "Object") return withArticle(tag);
  const keys = Object.keys(value);
  return keys.length ? `an object with ${keys.slice(0, LONGEST_LIST).join(", ")}` : "an empty object";
}

function describedList(list: readonly unknown[], depth: number): string {
  const { length } = list;
  if (length > LONGEST_LIST || depth === 0) return `an array of ${length}`;
  return `[${Array.from({ length }, (_, n) => described(list[n], depth - 1)).join(", ")}]`;
}

/** "an Int8Array", "a Uint8Array": the name of a class with its article. */
export const withArticle = (name: string) => `${/^([AEIO]|U(?!int))/.test(name) ? "an" : "a"} ${name}`;

/** "Map", "Promise", "ArrayBuffer" and so on for objects of any realm; "Object" for a plain object. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
