import type { NumberList, OptionReader } from "../call/options.js";
import type { AttentionShape } from "./attentionShape.js";

/** The shape of a call, as far as options that are no tensors depend on it. */
export type Sizes = Omit<AttentionShape, "keyLength">;

/** A setting: what it is if the option is absent, and how a given option is read. */
export interface Row<K extends Kind = Kind, Value = unknown, Rule = unknown> {
  readonly kind: K;
  readonly absent: Value;
  /** Of the kind. The tests make illegal values from it. */
  readonly rule: Rule;
  readonly read: (options: OptionReader, name: string, sizes: Sizes, numSequences: number) => Value;
}

/** The types of options that each kind reads. What no other kind reads has a reader of its own. */
interface OptionOf {
  readonly number: number;
  readonly flag: boolean;
  readonly integers: NumberList;
  readonly floats: NumberList;
  readonly oneOf: string;
  readonly own: unknown;
}

export type Kind = keyof OptionOf;

/** The kinds that can read an option of this type. */
export type KindOf<Option> = {
  [K in Kind]: [NonNullable<Option>] extends [OptionOf[K]] ? K : never;
}[Kind];

export interface NumberRule<Absent> {
  readonly absent: Absent;
  readonly min?: number;
  /** Whether null counts as absent. */
  readonly nullable?: boolean;
}

/** A finite number. */
export function number<Absent extends number | undefined>(
  rule: NumberRule<Absent>,
): Row<"number", number | Absent, NumberRule<Absent>> {
  const { absent, min = -Infinity, nullable = false } = rule;
  return {
    kind: "number",
    absent,
    rule,
    read(options, name) {
      if (nullable && options.value(name) === null) return absent;
      const value = options.number(name)!;
      if (value < min) throw options.refuse(name, `be at least ${min}`);
      return value;
    },
  };
}

/** true or false, which is the default. */
export function flag(): Row<"flag", boolean> {
  return { kind: "flag", absent: false, rule: undefined, read: (options, name) => options.flag(name, false) };
}

/** One of some words. The first is the default. */
export function oneOf<Word extends string>(rule: readonly [Word, ...Word[]]): Row<"oneOf", Word, readonly Word[]> {
  return { kind: "oneOf", absent: rule[0], rule, read: (options, name) => options.oneOf(name, rule, rule[0]) };
}

export interface IntegersRule {
  readonly length: keyof Sizes;
  /** The largest that is allowed. The least is 0. */
  readonly most?: keyof Sizes;
}

/** A list of integers of at least 0. */
export function integers(rule: IntegersRule): Row<"integers", Int32Array | undefined, IntegersRule> {
  const { length, most } = rule;
  const read = (options: OptionReader, name: string, sizes: Sizes) =>
    options.integers(name, { min: 0, ...(most && { max: sizes[most] }) }, sizes[length]);
  return { kind: "integers", absent: undefined, rule, read };
}

export interface FloatsRule {
  readonly length: keyof Sizes;
  readonly minusInfinity?: boolean;
}

/** A list of finite numbers, or −∞ too. */
export function floats(rule: FloatsRule): Row<"floats", Float32Array | undefined, FloatsRule> {
  const read = (options: OptionReader, name: string, sizes: Sizes) => options.floats(name, sizes[rule.length], rule);
  return { kind: "floats", absent: undefined, rule, read };
}

/** What no other kind reads. */
export function own<Value>(absent: Value, read: Row<"own", Value>["read"]): Row<"own", Value> {
  return { kind: "own", absent, rule: undefined, read };
}
