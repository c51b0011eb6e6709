const LONGEST_LIST = 8;

// Reads the internal slot, so it also knows typed arrays of other realms (Jest, frames), where instanceof fails.
const typedArrayTag = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
)!;

/** "Float32Array" and so on for a typed array of any realm, undefined for anything else. */
export function arrayKind(value: unknown): string | undefined {
  return typedArrayTag.get!.call(value) as string | undefined;
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** A value as error messages show it: short, and telling its type. */
export function describe(value: unknown): string {
  const type = typeof value;
  if (type === "object") return describeObject(value as object | null);
  if (type === "function" || type === "symbol") return `a ${type}`;
  if (type === "string") return JSON.stringify(value);
  return type === "bigint" ? `${value as bigint}n` : String(value);
}

function describeObject(value: object | null): string {
  if (value === null) return "null";
  if (Array.isArray(value))
    return value.length > LONGEST_LIST ? `an array of ${value.length}` : `[${value.map(describe).join(", ")}]`;
  const kind = arrayKind(value);
  if (kind) return `a ${kind} of ${(value as unknown as ArrayLike<unknown>).length}`;
  const keys = Object.keys(value);
  return keys.length ? `an object with ${keys.slice(0, LONGEST_LIST).join(", ")}` : "an empty object";
}
