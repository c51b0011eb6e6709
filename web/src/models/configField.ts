import { UnsupportedError } from "../errors/errors.js";
import { describe, isObject } from "../foreign/describe.js";

/** An object of config.json. */
export interface Json {
  /** Where it is, for messages: `loadModel: config.json: `, and `rope_scaling.` for a part of it. */
  readonly at: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Reads one field of config.json, and checks it. A field that is `null` counts as absent. */
export type Field<V> = (json: Json) => V;

/** The values of a table of fields. */
export type Values<T> = { readonly [Name in keyof T]: T[Name] extends Field<infer V> ? V : never };

/** Reads a table of fields. */
export function readFields<T extends Readonly<Record<string, Field<unknown>>>>(json: Json, fields: T): Values<T> {
  return Object.fromEntries(Object.entries(fields).map(([name, read]) => [name, read(json)])) as Values<T>;
}

/** An UnsupportedError: `loadModel: config.json: hidden_act must be gelu or relu, got "mish"`. */
export function refuse({ at, values }: Json, name: string, rule: string): UnsupportedError {
  return new UnsupportedError(`${at}${name} must ${rule}, got ${describe(values[name])}`);
}

function field<V>(name: string, rule: string, allows: (value: unknown) => value is V, absent?: V): Field<V> {
  return (json) => {
    const value = json.values[name] ?? absent;
    if (allows(value)) return value;
    throw refuse(json, name, `be ${rule}`);
  };
}

/** More blocks or other counts than any model has: they become arrays and loops. */
export const MOST_BLOCKS = 2 ** 12;
const MOST_COUNT = 2 ** 24;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
const isPositive = (value: unknown): value is number => Number.isFinite(value) && (value as number) > 0;

/** An integer from 1 to `most`. Without `absent` it must be given. */
export function count(name: string, absent?: number, most = MOST_COUNT): Field<number> {
  const read = field(name, "an integer of 1 or more", isCount, absent);
  return (json) => {
    const value = read(json);
    if (value > most) throw refuse(json, name, `be at most ${most}`);
    return value;
  };
}

/** A number above 0. Without `absent` it must be given. */
export function positive(name: string, absent?: number): Field<number> {
  return field(name, "a number above 0", isPositive, absent);
}

export function flag(name: string, absent: boolean): Field<boolean> {
  return field(name, "true or false", (value): value is boolean => typeof value === "boolean", absent);
}

/** One of some words. */
export function word<V extends string>(name: string, words: readonly V[], absent?: V): Field<V> {
  const isOne = (value: unknown): value is V => (words as readonly unknown[]).includes(value);
  return field(name, words.map(describe).join(" or "), isOne, absent);
}

/** A field that changes what a model computes, and for which only one value is supported. */
export function only(name: string, value: string | number | boolean | undefined): Field<void> {
  return (json) => {
    if ((json.values[name] ?? value) !== value)
      throw refuse(json, name, value === undefined ? "be absent" : `be ${describe(value)}`);
  };
}

/** The value of another field, or undefined if it is absent. */
export function optional<V>(name: string, of: Field<V>): Field<V | undefined> {
  return (json) => ((json.values[name] ?? undefined) === undefined ? undefined : of(json));
}

/** One token, or a list of tokens. Absent: none. */
export function tokens(name: string): Field<readonly number[]> {
  return (json) => {
    const list = [json.values[name] ?? []].flat();
    if (list.every((token): token is number => Number.isSafeInteger(token))) return list;
    throw refuse(json, name, "be a token or a list of tokens");
  };
}

/** An object inside of config.json, for reading its fields; undefined if it is absent. */
export function part(json: Json, name: string): Json | undefined {
  const values = json.values[name] ?? undefined;
  if (values === undefined) return undefined;
  if (!isObject(values) || Array.isArray(values)) throw refuse(json, name, "be an object");
  return { at: `${json.at}${name}.`, values: values as Json["values"] };
}
