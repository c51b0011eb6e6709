import { describe, isObject } from "../base/describe.js";
import { UnsupportedError } from "../base/errors.js";

type Fields = Readonly<Record<string, unknown>>;

/** An object of config.json. It remembers which of its fields were read. */
export class Json {
  /** Where it is, for messages: `loadModel: config.json: `, and `rope_scaling.` for a part of it. */
  readonly at: string;
  readonly #values: Fields;
  readonly #read = new Set<string>();
  readonly #parts = new Map<string, Json>();

  constructor(at: string, values: Fields) {
    this.at = at;
    this.#values = values;
  }

  /** The value of a field; undefined if it is absent or `null`. */
  value(name: string): unknown {
    this.#read.add(name);
    return this.#values[name] ?? undefined;
  }

  /** Whether a field is written as `null`. */
  isNull(name: string): boolean {
    this.#read.add(name);
    return this.#values[name] === null;
  }

  /**
   * An object inside of this one, for reading its fields; undefined if it is absent.
   *
   * @throws UnsupportedError if it is no object.
   */
  part(name: string): Json | undefined {
    const values = this.value(name);
    if (values === undefined) return undefined;
    if (!isObject(values) || Array.isArray(values)) throw refuse(this, name, "be an object");
    const part = this.#parts.get(name) ?? new Json(`${this.at}${name}.`, values as Fields);
    this.#parts.set(name, part);
    return part;
  }

  /** The fields that nothing has read, with their values: also those of parts, as `rope_scaling.factor`. */
  get unread(): [name: string, value: unknown][] {
    const own = Object.entries(this.#values).filter(([name, value]) => !this.#read.has(name) && value !== null);
    const inner = [...this.#parts].flatMap(([name, part]) =>
      part.unread.map(([field, value]): [string, unknown] => [`${name}.${field}`, value]),
    );
    return [...own, ...inner];
  }
}

/** Reads one field of config.json, and checks it. A field that is `null` counts as absent, and a flag as false. */
export type Field<V> = (json: Json) => V;

/** The values of a table of fields. */
export type Values<T> = { readonly [Name in keyof T]: T[Name] extends Field<infer V> ? V : never };

/** Reads a table of fields. */
export function readFields<T extends Readonly<Record<string, Field<unknown>>>>(json: Json, fields: T): Values<T> {
  return Object.fromEntries(Object.entries(fields).map(([name, read]) => [name, read(json)])) as Values<T>;
}

/** An UnsupportedError: `loadModel: config.json: hidden_act must be gelu or relu, got "mish"`. */
export function refuse(json: Json, name: string, rule: string, hint?: string): UnsupportedError {
  return new UnsupportedError(`${json.at}${name} must ${rule}, got ${describe(json.value(name))}`, { hint });
}

/** A field of numbers, all of which float32 holds. */
function held<V extends number | readonly number[]>(name: string, rule: string, read: Field<V>): Field<V> {
  return (json) => {
    const value = read(json);
    if ([value].flat().every((number) => number === 0 || isHeld(number))) return value;
    throw refuse(json, name, `be ${rule} that float32 holds`);
  };
}

function field<V>(name: string, rule: string, allows: (value: unknown) => value is V, absent?: V): Field<V> {
  return (json) => {
    const value = json.value(name) ?? absent;
    if (allows(value)) return value;
    throw refuse(json, name, `be ${rule}`);
  };
}

/** More blocks or other counts than any model has: they become arrays and loops. */
export const MOST_BLOCKS = 2 ** 12;
const MOST_COUNT = 2 ** 24;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
const isPositive = (value: unknown): value is number => Number.isFinite(value) && (value as number) > 0;
/** Whether float32 has a finite number other than 0 for it, as layers ask. */
const isHeld = (value: number) => Math.fround(value) > 0 && Number.isFinite(Math.fround(value));

/** An integer from 1 to `most`. Without `absent` it must be given. */
export function count(name: string, absent?: number, most = MOST_COUNT): Field<number> {
  const read = field(name, "an integer of 1 or more", isCount, absent);
  return (json) => {
    const value = read(json);
    if (value > most) throw refuse(json, name, `be at most ${most}`);
    return value;
  };
}

/** An integer of 0 or more, such as the number of a token. */
export function index(name: string, absent: number): Field<number> {
  const isIndex = (value: unknown): value is number => value === 0 || isCount(value);
  return field(name, "an integer of 0 or more", isIndex, absent);
}

/** A number above 0, and its value if it is absent. */
export interface FieldName {
  readonly name: string;
  readonly absent: number;
}

/** A second name of a field, which some files have beside the first. If it is there, it must say the same. */
export function sameAs(name: string, first: FieldName): Field<void> {
  return (json) => {
    const value = json.value(name);
    if (value === undefined) return;
    const decides = positive(first.name, first.absent)(json);
    if (value !== decides) throw refuse(json, name, `be ${decides}, as ${first.name} is`);
  };
}

/** A number above 0. Without `absent` it must be given. */
export function positive(name: string, absent?: number): Field<number> {
  const rule = "a number above 0";
  return held(name, rule, field(name, rule, isPositive, absent));
}

/** A number of 0 or more. */
export function notNegative(name: string): Field<number> {
  const isAllowed = (value: unknown): value is number => value === 0 || isPositive(value);
  const rule = "a number of 0 or more";
  return held(name, rule, field(name, rule, isAllowed));
}

/** True or false. `null` is false, as in Python. */
export function flag(name: string, absent: boolean): Field<boolean> {
  const read = field(name, "true or false", (value): value is boolean => typeof value === "boolean", absent);
  return (json) => !json.isNull(name) && read(json);
}

/** A list of so many numbers above 0. */
export function positives(name: string, length: number): Field<readonly number[]> {
  const isList = (value: unknown): value is readonly number[] =>
    Array.isArray(value) && value.length === length && value.every(isPositive);
  const rule = `a list of ${length} numbers above 0`;
  return held(name, rule, field(name, rule, isList));
}

/** One of some words. */
export function word<V extends string>(name: string, words: readonly V[], absent?: V): Field<V> {
  const isOne = (value: unknown): value is V => (words as readonly unknown[]).includes(value);
  return field(name, words.map(describe).join(" or "), isOne, absent);
}

/** A field that changes what a model computes, and for which only one value is supported. */
export function only(name: string, value: string | number | boolean | undefined): Field<void> {
  return (json) => {
    if ((json.value(name) ?? value) !== value)
      throw refuse(json, name, value === undefined ? "be absent" : `be ${describe(value)}`);
  };
}

/** A list or an object that changes what a model computes, and must be empty. */
export function empty(name: string): Field<void> {
  return (json) => {
    if (Object.keys(json.value(name) ?? {}).length > 0) throw refuse(json, name, "be empty");
  };
}

/** The value of another field, or undefined if it is absent. */
export function optional<V>(name: string, of: Field<V>): Field<V | undefined> {
  return (json) => (json.value(name) === undefined ? undefined : of(json));
}

/** A list of texts. Absent: none. */
export function texts(name: string): Field<readonly string[]> {
  return (json) => {
    const list = [json.value(name) ?? []].flat();
    if (list.every((text): text is string => typeof text === "string")) return list;
    throw refuse(json, name, "be a list of texts");
  };
}

/** One token, or a list of tokens. Absent: none. */
export function tokens(name: string, absent: readonly number[] = []): Field<readonly number[]> {
  return (json) => {
    const list = json.isNull(name) ? [] : [json.value(name) ?? absent].flat();
    if (list.every((token): token is number => Number.isSafeInteger(token))) return list;
    throw refuse(json, name, "be a token or a list of tokens");
  };
}
