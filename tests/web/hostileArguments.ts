// Hostile arguments: arrays with false properties, objects that change while they are read, memory that is detached or
// grows while a call waits.

import vm from "node:vm";

import fc from "fast-check";

/** A number beside the caller's arrays, and in the engine's memory before a call. No correct result contains it. */
export const SECRET = 7_777_777;

/** A change of one argument: the value given instead, and what happens to it after the call was made. */
export interface Attack {
  readonly given: unknown;
  readonly after?: () => void;
  /** Whether the result must stay the same: the array only looks strange, and its numbers are unchanged. */
  readonly isSame?: true;
}

type Numbers = Float32Array | Uint16Array | Uint8Array | Int32Array;
type ArrayOf = new (buffer: ArrayBufferLike, offset?: number, length?: number) => Numbers;

const secrets = (atLeast = 0) => new Float32Array(Math.max(5000, atLeast)).fill(SECRET);
const own = (target: object, name: string | symbol, value: unknown) =>
  Object.defineProperty(target, name, { value, configurable: true });
const kindOf = (data: Numbers) => data.constructor as unknown as ArrayOf;
const bytesOf = (data: Numbers) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** The same numbers at the start of `buffer`. */
function moved(data: Numbers, buffer: ArrayBufferLike, tracking = false): Numbers {
  new Uint8Array(buffer).set(bytesOf(data));
  return tracking ? new (kindOf(data))(buffer) : new (kindOf(data))(buffer, 0, data.length);
}

// The TypeScript library in use does not have these types yet.
type Resizable = ArrayBuffer & { resize(bytes: number): void; readonly maxByteLength: number };
type Growable = SharedArrayBuffer & { grow(bytes: number): void; readonly maxByteLength: number };
type Sized<T> = new (bytes: number, options: { readonly maxByteLength: number }) => T;
export const resizable = (bytes: number, maxByteLength: number) =>
  new (ArrayBuffer as unknown as Sized<Resizable>)(bytes, { maxByteLength });
const growable = (bytes: number, maxByteLength: number) =>
  new (SharedArrayBuffer as unknown as Sized<Growable>)(bytes, { maxByteLength });

export const detach = (data: Numbers) => void structuredClone(data.buffer, { transfer: [data.buffer as ArrayBuffer] });

/** Typed arrays with false properties, and arrays that change later. */
const ARRAY_ATTACKS: readonly ((data: Numbers) => Attack)[] = [
  (data) => ({ given: own(data.slice(), "length", data.length + 4096), isSame: true }),
  (data) => ({ given: own(data.slice(), "length", 0), isSame: true }),
  (data) => ({ given: own(data.slice(), "byteLength", data.byteLength + 4096), isSame: true }),
  (data) => ({ given: own(own(data.slice(), "buffer", secrets().buffer), "byteOffset", 64), isSame: true }),
  (data) => ({ given: own(own(data.slice(), "slice", secrets), "subarray", secrets), isSame: true }),
  (data) => ({ given: own(data.slice(), Symbol.toStringTag, "Float64Array"), isSame: true }),
  (data) => ({ given: own(data.slice(), "constructor", { [Symbol.species]: Float64Array }), isSame: true }),
  (data) => ({ given: own(data.slice(), Symbol.iterator, () => secrets()[Symbol.iterator]()), isSame: true }),
  (data) => {
    const Lying = class extends (kindOf(data) as unknown as new (data: never) => object) {
      static get [Symbol.species]() {
        return Float64Array;
      }
      get length() {
        return 4096;
      }
    };
    return { given: new Lying(data as never), isSame: true };
  },
  (data) => ({ given: new Proxy(data, {}) }),
  (data) => {
    const gone = data.slice();
    detach(gone);
    return { given: gone };
  },
  (data) => {
    const copy = data.slice();
    return { given: copy, after: () => detach(copy) };
  },
  (data) => {
    const buffer = resizable(data.byteLength, 4 * data.byteLength + 4096);
    return { given: moved(data, buffer), after: () => buffer.resize(buffer.byteLength >> 1) };
  },
  (data) => {
    const buffer = resizable(data.byteLength, 4 * data.byteLength + 4096);
    return { given: moved(data, buffer, true), after: () => buffer.resize(buffer.maxByteLength), isSame: true };
  },
  (data) => {
    const buffer = resizable(data.byteLength, 4 * data.byteLength + 4096);
    return { given: moved(data, buffer, true), after: () => buffer.resize(0) };
  },
  (data) => {
    const buffer = resizable(data.byteLength, 2 * data.byteLength);
    const given = moved(data, buffer);
    buffer.resize(0);
    return { given };
  },
  (data) => ({ given: moved(data, new SharedArrayBuffer(data.byteLength)), isSame: true }),
  (data) => {
    const buffer = growable(data.byteLength, data.byteLength + 4096);
    return { given: moved(data, buffer, true), after: () => buffer.grow(buffer.maxByteLength), isSame: true };
  },
  (data) => {
    const other = vm.runInNewContext(`new ${data.constructor.name}(${data.length})`) as Numbers;
    other.set(data);
    return { given: other, isSame: true };
  },
  (data) => {
    // in the middle of numbers that the call must not see
    const around = secrets(data.byteLength / 4 + 32);
    const inside = new (kindOf(data))(around.buffer, 64, data.length);
    inside.set(data);
    return { given: inside, isSame: true };
  },
];

/** Arrays of numbers that change, that have holes, or that are something else. */
const LIST_ATTACKS: readonly ((list: readonly unknown[]) => Attack)[] = [
  (list) => {
    let reads = 0;
    const given = [...list];
    Object.defineProperty(given, 0, { get: () => (reads++ === 0 ? list[0] : 4096) });
    return { given };
  },
  (list) => {
    let reads = 0;
    const get = (target: unknown[], name: string | symbol): unknown =>
      name !== "length" && reads++ > list.length ? 4096 : Reflect.get(target, name);
    return { given: new Proxy([...list], { get }) };
  },
  (list) => ({
    given: new Proxy([...list], {
      get: (target, name): unknown => (name === "length" ? 4096 : Reflect.get(target, name)),
    }),
  }),
  (list) => {
    const given = new Array<unknown>(list.length); // index 0 stays a hole
    for (let n = 1; n < list.length; ++n) given[n] = list[n];
    return { given };
  },
  (list) => {
    const given = [...list];
    return { given, after: () => given.fill(4096) };
  },
  (list) => {
    const given = [...list];
    return { given, after: () => (given.length = 0) };
  },
  (list) => ({ given: own([...list], Symbol.iterator, () => secrets()[Symbol.iterator]()) }),
  (list) => ({
    given: own(
      own([...list], "map", () => [4096]),
      "slice",
      () => [4096],
    ),
  }),
  (list) => ({ given: [...list, 1] }),
  (list) => ({ given: list.map((x) => -(x as number)) }),
  (list) => ({ given: list.map(String) }),
  (list) => ({ given: list.map((x) => ({ valueOf: () => x })) }),
  () => ({ given: new Array(2 ** 31) }),
  () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic, cyclic, cyclic, cyclic, cyclic, cyclic, cyclic, cyclic);
    return { given: cyclic };
  },
  (list) => {
    const { proxy, revoke } = Proxy.revocable([...list], {});
    revoke();
    return { given: proxy };
  },
];

/** Objects whose properties change, throw or are inherited. */
const OBJECT_ATTACKS: readonly ((object: Record<string, unknown>) => Attack)[] = [
  (object) => {
    const seen = new Set<string | symbol>();
    const get = (target: object, name: string | symbol): unknown => {
      if (seen.has(name)) return secrets();
      seen.add(name);
      return Reflect.get(target, name);
    };
    return { given: new Proxy(object, { get }) };
  },
  (object) => {
    const given = { ...object };
    for (const name of Object.keys(object)) {
      let reads = 0;
      Object.defineProperty(given, name, { enumerable: true, get: () => (reads++ === 0 ? object[name] : secrets()) });
    }
    return { given };
  },
  (object) => {
    const given = { ...object };
    return { given, after: () => Object.keys(given).forEach((name) => (given[name] = secrets())) };
  },
  (object) => ({ given: Object.create(object) as unknown }),
  (object) => ({ given: Object.assign(Object.create(null) as object, object) }),
  (object) => ({ given: new Map(Object.entries(object)) }),
  (object) => ({ given: Promise.resolve(object) }),
  (object) => ({ given: [object] }),
  (object) => ({ given: { ...object, causual: true } }),
  (object) => ({ given: Object.assign(Object.create({ causual: true }) as object, object) }),
  (object) => ({
    given: Object.defineProperty({ ...object }, "data", {
      enumerable: true,
      get() {
        throw new RangeError("not yours");
      },
    }),
  }),
  (object) => ({
    given: new Proxy(object, {
      ownKeys() {
        throw new RangeError("not yours");
      },
      has() {
        throw new RangeError("not yours");
      },
    }),
  }),
  (object) => {
    const endless = (): object => new Proxy({}, { getPrototypeOf: endless });
    return { given: Object.setPrototypeOf({ ...object }, endless()) as unknown };
  },
  (object) => {
    const { proxy, revoke } = Proxy.revocable(object, {});
    revoke();
    return { given: proxy };
  },
];

/** Values given instead of a number, a string or a flag. */
const SCALARS: readonly unknown[] = [
  ...[Number.NaN, Infinity, -1, -0, 0.5, 1e39, "2", "", true, null, undefined, 3n, Symbol("s"), {}, [], () => 1],
  { valueOf: () => 2 },
];

/** The paths to all values in `args`, as lists of names. */
function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const inside =
    typeof value === "object" && value !== null && !ArrayBuffer.isView(value)
      ? Object.entries(value).flatMap(([name, part]) => placesIn(part, [...path, name]))
      : [];
  return path.length === 0 ? inside : [path, ...inside];
}

function attacksOn(value: unknown): readonly ((value: never) => Attack)[] {
  const plain = SCALARS.map((given) => () => ({ given }));
  if (ArrayBuffer.isView(value)) return [...ARRAY_ATTACKS, ...ARRAY_ATTACKS, ...plain];
  if (Array.isArray(value) && value.every((x) => typeof x === "number")) return [...LIST_ATTACKS, ...plain];
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return [...OBJECT_ATTACKS, ...plain];
  return plain;
}

/** The arguments with the value at one path replaced. */
function replaced(args: unknown, [name, ...rest]: readonly string[], given: unknown): unknown {
  if (name === undefined) return given;
  const part = (args as Record<string, unknown>)[name];
  const copy = (Array.isArray(args) ? [...(args as unknown[])] : { ...(args as object) }) as Record<string, unknown>;
  copy[name] = replaced(part, rest, given);
  return copy;
}

/** The chosen attacks on a call, and whether it must wait for its turn. */
export const attacks = fc.record({
  /** The place, as a fraction of the number of places, and the kind. */
  chosen: fc.array(fc.record({ place: fc.double({ min: 0, max: 0.999_999, noNaN: true }), kind: fc.nat(10_000) }), {
    minLength: 1,
    maxLength: 3,
  }),
  waits: fc.boolean(),
});

/** A call under attack. */
export interface AttackedCall<A> {
  readonly args: A;
  /** What happens to the arguments after the call was made. */
  readonly after: () => void;
  readonly isSame: boolean;
  readonly where: string;
}

const isWithin = (path: readonly string[], other: readonly string[]) => other.every((name, n) => path[n] === name);

/** Applies the chosen attacks to the arguments of a call. Of attacks on a value and on a part of it, only the first counts. */
export function attacked<A extends readonly unknown[]>(
  args: A,
  { chosen }: { readonly chosen: readonly { readonly place: number; readonly kind: number }[] },
): AttackedCall<A> {
  const places = placesIn(args);
  const taken: { path: readonly string[]; attack: Attack; where: string }[] = [];
  for (const { place, kind } of chosen) {
    const path = places[Math.floor(place * places.length)]!;
    if (taken.some((other) => isWithin(path, other.path) || isWithin(other.path, path))) continue;
    const value = path.reduce((part, name) => (part as Record<string, unknown>)[name], args as unknown);
    const choices = attacksOn(value);
    const n = kind % choices.length;
    taken.push({ path, attack: choices[n]!(value as never), where: `${path.join(".")}, attack ${n}` });
  }
  return {
    args: taken.reduce<unknown>((given, { path, attack }) => replaced(given, path, attack.given), args) as A,
    after: () => taken.forEach(({ attack }) => attack.after?.()),
    isSame: taken.every(({ attack }) => attack.isSame),
    where: taken.map(({ where }) => where).join("; "),
  };
}
