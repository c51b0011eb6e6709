// Values that throw when they are read, and values that look like what is asked for: for every argument of every operation.

import { HeadwiseError } from "headwise";

const thrower = () => {
  throw new RangeError("not yours");
};

/** A proxy whose every trap throws. */
const throwing = <T extends object>(target: T): T => new Proxy(target, new Proxy({}, { get: () => thrower }));

function revoked<T extends object>(target: T): T {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

const withGetters = (holder: object, names: readonly PropertyKey[]) => {
  for (const name of names) Object.defineProperty(holder, name, { enumerable: true, configurable: true, get: thrower });
  return holder;
};

const throwsRevoked = () => {
  throw revoked(new Error("not yours"));
};

/** Names that some argument of the package has. */
const NAMES = ["data", "shape", "dtype", "length", "aborted", "href", "buffer", "then", "name", "message", "size"];

/** Values given instead of another one, by what they are. */
export const HOSTILE_VALUES: Readonly<Record<string, (value: unknown) => unknown>> = {
  "a revoked object": () => revoked({}),
  "a revoked array": () => revoked([1, 2]),
  "a revoked function": () => revoked(() => 1),
  "an object whose traps throw": () => throwing({}),
  "an array whose traps throw": () => throwing([1, 2]),
  "a function whose traps throw": () => throwing(() => 1),
  "what was given, whose traps throw": (value) => (isAny(value) ? throwing(value) : throwing({})),
  "what was given, revoked": (value) => (isAny(value) ? revoked(value) : revoked({})),
  "an object with getters that throw": (value) => withGetters({}, [...NAMES, ...(isAny(value) ? Object.keys(value).slice(0, 20) : [])]), // oxfmt-ignore
  "an object whose getter throws a revoked object": () => Object.defineProperty({ shape: [1] }, "data", { enumerable: true, get: throwsRevoked }), // oxfmt-ignore
  "an object that is no text": () => withGetters({}, [Symbol.toPrimitive, Symbol.toStringTag, "toString", "valueOf"]),
  "an array with a getter that throws": (value) => withGetters(Array.isArray(value) ? [...(value as unknown[])] : [1], [0]), // oxfmt-ignore
  "an array of a revoked object": () => [revoked({})],
  "an array of a revoked array": () => [revoked([1])],
  "an object of revoked objects": (value) => Object.fromEntries(isAny(value) ? Object.keys(value).slice(0, 20).map((name) => [name, revoked({})]) : [["data", revoked([])]]), // oxfmt-ignore
  "a tensor of revoked data": () => ({ data: revoked(new Float32Array(4)), shape: [4] }),
  "a tensor of a revoked shape": () => ({ data: new Float32Array(4), shape: revoked([4]) }),
  "a class": () => class {},
  "a signal that is none": () => ({ aborted: false }),
  "a signal that throws": () => withGetters({ addEventListener: () => undefined }, ["aborted"]),
  "an object without a prototype": () => Object.create(null) as object,
  "a symbol": () => Symbol("s"),
  "a bigint": () => 2n ** 70n,
};

/** Numbers of elements that no call of the tests takes. To copy them would cost more than a call with bad input may. */
const LONG = 2 ** 23;

/** Values that are large where a call expects something small. They are made once: only the call's own cost counts. */
function largeValues(): Readonly<Record<string, unknown>> {
  if (made) return made;
  const numbers = new Array<number>(LONG).fill(1.5); // no index, no flag and no size
  made = {
    "a long array of numbers": numbers,
    "a long array of strings": new Array<string>(LONG / 16).fill("x"),
    "a long array of arrays": new Array<unknown>(LONG / 16).fill([1]),
    "a long Float32Array": new Float32Array(LONG).fill(1.5),
    "a long Int32Array": new Int32Array(LONG).fill(2 ** 30),
    "a long Uint8Array": new Uint8Array(LONG).fill(255),
    "a large tensor": { data: new Float32Array(LONG), shape: [LONG] },
    "a large tensor of a plain array": { data: numbers, shape: [LONG] },
    "a long text": "s + ".repeat(LONG / 16),
    "a text of brackets": "(".repeat(LONG / 16),
    "an object of many names": Object.fromEntries(Array.from({ length: LONG / 128 }, (_, n) => [`name${n}`, n])),
    "a deep array": Array.from({ length: LONG / 256 }).reduce<unknown>((inner) => [inner], 1),
    "a deep object": Array.from({ length: LONG / 256 }).reduce<object>((inner) => ({ inner }), { inner: 1 }),
  };
  return made;
}

let made: Readonly<Record<string, unknown>> | undefined;

const isAny = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";

/** Arguments with one value replaced. */
interface Replaced {
  readonly where: string;
  readonly args: readonly unknown[];
  /** Whether the value is called. What a function of the caller throws, the caller gets. */
  readonly isCalled: boolean;
}

/** Options that any object of options may have. */
const COMMON = ["signal", "onProgress"];

/** The arguments with every hostile value at every place, also inside of them. */
export function hostileArguments(make: () => readonly unknown[]): Generator<Replaced> {
  return replacedArguments(make, HOSTILE_VALUES);
}

/** The same with large values. */
export function largeArguments(make: () => readonly unknown[]): Generator<Replaced> {
  const values = Object.entries(largeValues()).map(([what, value]) => [what, () => value]);
  return replacedArguments(make, Object.fromEntries(values) as typeof HOSTILE_VALUES);
}

function* replacedArguments(make: () => readonly unknown[], values: typeof HOSTILE_VALUES): Generator<Replaced> {
  for (const path of placesIn(make()))
    for (const [what, hostile] of Object.entries(values)) {
      const args = make();
      const value = path.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], args);
      const given = hostile(value);
      const isCalled = typeof given === "function" && (typeof value === "function" || path.at(-1) === "onProgress");
      yield { where: `${path.join(".")}: ${what}`, args: replaced(args, path, given) as unknown[], isCalled };
    }
}

function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const own = path.length === 0 ? [] : [path];
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return own;
  const parts = Object.entries(value).slice(0, 20);
  const isPlain = path.length > 0 && !Array.isArray(value) && !("data" in value);
  const common = isPlain ? COMMON.map((name) => [...path, name]) : [];
  return [...own, ...parts.flatMap(([name, part]) => placesIn(part, [...path, name])), ...common];
}

function replaced(args: unknown, [name, ...rest]: readonly string[], given: unknown): unknown {
  if (name === undefined) return given;
  const copy = (Array.isArray(args) ? [...(args as unknown[])] : { ...(args as object) }) as Record<string, unknown>;
  copy[name] = replaced(copy[name], rest, given);
  return copy;
}

/** How a call ends, if that is not allowed: with an error that is not one of the package's own. */
export async function badEnding(run: () => unknown, isCalled = false): Promise<string | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (isCalled && error instanceof RangeError && error.message === "not yours") return undefined;
    if (!HeadwiseError.is(error)) return `it throws ${textOf(error)}`;
    if (error.code === "INTERNAL") return `${error.code}: ${error.message}`;
    return /^[\w.]+: \S/.test(error.message) ? undefined : `its message names no operation: ${error.message}`;
  }
}

function textOf(error: unknown): string {
  try {
    return String((error as Error).stack);
  } catch {
    return "what cannot be read";
  }
}
