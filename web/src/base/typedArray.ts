// This file reads typed arrays with the getters of the language, which read internal slots. So own properties,
// subclasses and other realms cannot change the result.

type Asked<T> = (this: unknown) => T;

const prototype = Object.getPrototypeOf(Uint8Array.prototype) as object;

function getterOf<T>(owner: object, name: string | symbol): Asked<T> {
  return Reflect.get(Object.getOwnPropertyDescriptor(owner, name)!, "get") as Asked<T>;
}

const kindOf = getterOf<string | undefined>(prototype, Symbol.toStringTag);
const bufferOf = getterOf<ArrayBufferLike>(prototype, "buffer");
const byteOffsetOf = getterOf<number>(prototype, "byteOffset");
const lengthOf = getterOf<number>(prototype, "length");
const keysOf = Reflect.get(prototype, "keys") as Asked<unknown>; // frozen, it may be a property with a getter
const plainLengthOf = getterOf<number>(ArrayBuffer.prototype, "byteLength");
const sharedLengthOf =
  typeof SharedArrayBuffer === "function"
    ? getterOf<number>(SharedArrayBuffer.prototype as object, "byteLength")
    : undefined;

/** "Float32Array" and so on for a typed array of any realm; undefined for anything else. */
export function arrayKind(value: unknown): string | undefined {
  return kindOf.call(value);
}

/** The memory of a typed array. */
export interface ArrayPlace {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  /** Number of elements. */
  readonly length: number;
}

/** The memory of a typed array as it is now. */
export function placeOf(array: object): ArrayPlace {
  return { buffer: bufferOf.call(array), byteOffset: byteOffsetOf.call(array), length: lengthOf.call(array) };
}

/** Whether a typed array still has its memory: its buffer is not detached, and still reaches to the array's end. */
export function isIntact(array: object): boolean {
  try {
    keysOf.call(array); // throws if the array is detached or out of bounds
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether the buffer of a typed array is a SharedArrayBuffer, of any realm. The likely kind is asked for first: a getter
 * that refuses takes longer than the rest of a small call.
 */
export function isSharedBuffer(buffer: object): boolean {
  return buffer instanceof ArrayBuffer ? !answers(plainLengthOf, buffer) : answers(sharedLengthOf, buffer);
}

function answers(bytesOf: Asked<number> | undefined, buffer: object): boolean {
  try {
    return bytesOf?.call(buffer) !== undefined;
  } catch {
    return false;
  }
}

/** Whether a value is an array. A revoked proxy cannot even be asked. */
export function isArray(value: unknown): value is object {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** Whether a value is an array or a typed array of any class. */
export function isAnyArray(value: unknown): value is object {
  return isArray(value) || arrayKind(value) !== undefined;
}

type View = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayLike<number | bigint>;

/** Every class of typed arrays. Float16Array is missing because not every engine has it. */
const CLASSES: Readonly<Record<string, View>> = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
};

/** A view of our own on an intact typed array, of its class. undefined for a class that this realm does not have. */
export function viewOf(array: object): ArrayLike<number | bigint> | undefined {
  const kind = arrayKind(array)!;
  const Class = CLASSES[kind] ?? (globalThis as unknown as Readonly<Record<string, View | undefined>>)[kind];
  const { buffer, byteOffset, length } = placeOf(array);
  return Class && new Class(buffer as ArrayBuffer, byteOffset, length);
}
