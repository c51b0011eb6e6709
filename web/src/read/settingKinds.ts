import { alternatives, integerRule, type OptionReader } from "./options.js";
import { namesIn, readTable, type Checked, type Kind, type Row, type Table, type TableOf } from "./settingTable.js";
import type { WatchOptions } from "./watched.js";

export interface NumberRule {
  readonly min?: number;
  /** It must be greater than this. */
  readonly above?: number;
  /** The number that changes nothing: it counts as absent. */
  readonly neutral?: number;
  /** Whether null counts as absent. */
  readonly nullable?: boolean;
  /** The choice that asks for it, where others do not. */
  readonly choice?: string;
}

/**
 * The least number that no engine takes for 0: a GPU may do that with a smaller one. Where 0 has another meaning than a small
 * number, a smaller one counts as this.
 */
export const LEAST = 2 ** -126;

/** A finite number. */
export function number(rule: NumberRule): Row<"number", number | undefined, NumberRule> {
  const { min = -Infinity, above = -Infinity, nullable = false } = rule;
  const legal = rule.above === undefined ? `at least ${min}` : `greater than ${above}`;
  const asker = rule.choice === undefined ? "" : ` for "${rule.choice}"`;
  const read = (options: OptionReader, name: string) => {
    if (nullable && options.value(name) === null) return undefined;
    const value = options.number(name)!;
    if (value < min || value <= above) throw options.refuse(name, `be ${legal}${asker}`);
    if (value === rule.neutral) return undefined;
    if (rule.neutral === 0 && Math.abs(value) < LEAST) return Math.sign(value) * LEAST;
    return min === -Infinity ? value : value + 0; // no −0: it is 0 in a saved cache
  };
  return { kind: "number", absent: undefined, rule, legal: `a number ${legal}`, read };
}

export interface IntegerRule {
  readonly min?: number;
  readonly max?: number;
}

/** A whole number. */
export function integer(rule: IntegerRule): Row<"integer", number | undefined, IntegerRule> {
  const read = (options: OptionReader, name: string) => options.integer(name, rule);
  return { kind: "integer", absent: undefined, rule, legal: integerRule(rule), read };
}

/** true or false, which is the default. */
export function flag(): Row<"flag", boolean> {
  return { kind: "flag", absent: false, rule: undefined, read: (options, name) => options.flag(name, false) };
}

/** One of some words. The first is the default. */
export function oneOf<const Word extends string>(
  rule: readonly [Word, ...Word[]],
): Row<"oneOf", Word, readonly Word[]> {
  const read = (options: OptionReader, name: string) => options.oneOf(name, rule, rule[0]);
  return { kind: "oneOf", absent: rule[0], rule, legal: alternatives(rule), read };
}

export interface IntegersRule<Size extends string = string> {
  readonly length: Size;
  /** The largest that is allowed. The least is 0. */
  readonly most?: Size;
}

/** A list of integers of at least 0. */
export function integers<Size extends string>(
  rule: IntegersRule<Size>,
): Row<"integers", Int32Array | undefined, IntegersRule, Sizes<Size>> {
  const { length, most } = rule;
  const read = (options: OptionReader, name: string, sizes: Sizes<Size>) =>
    options.integers(name, { min: 0, ...(most && { max: sizes[most] }) }, sizes[length]);
  return { kind: "integers", absent: undefined, rule, read };
}

export interface FloatsRule<Size extends string = string> {
  readonly length: Size;
  readonly minusInfinity?: boolean;
  /** How large the numbers of a small call that measures are; 1 if absent. */
  readonly usual?: number;
}

/** A list of finite numbers, or −∞ too. */
export function floats<Size extends string>(
  rule: FloatsRule<Size>,
): Row<"floats", Float32Array | undefined, FloatsRule, Sizes<Size>> {
  const read = (options: OptionReader, name: string, sizes: Sizes<Size>) =>
    options.floats(name, sizes[rule.length], rule);
  return { kind: "floats", absent: undefined, rule, read };
}

/** What the lengths of lists depend on. */
type Sizes<Size extends string> = Readonly<Record<Size, number>>;

/** An object of settings. */
export function object<T extends Table<unknown>>(rule: T): Row<"object", Checked<T> | undefined, T> {
  const names = namesIn(rule);
  const read = (options: OptionReader, name: string) => readTable(options.object(name, names)!, rule);
  return { kind: "object", absent: undefined, rule, read };
}

/** An AbortSignal. */
export function signal(): Row<"signal", AbortSignal | undefined> {
  return { kind: "signal", absent: undefined, rule: undefined, read: (options) => options.signal() };
}

/** A function to call. */
export function callback<F extends WatchOptions["onProgress"]>(): Row<"callback", F | undefined> {
  const read = (options: OptionReader, name: string) => options.callback(name) as F | undefined;
  return { kind: "callback", absent: undefined, rule: undefined, read };
}

/** What no other kind reads. */
export function own<Value, Sizes = unknown>(
  absent: Value,
  read: (options: OptionReader, name: string, sizes: Sizes) => Value,
): Row<"own", Value, undefined, Sizes> {
  return { kind: "own", absent, rule: undefined, read };
}

/** What its operation reads together with other arguments. The table only knows its name. */
export function ofCall(): Row<"ofCall", undefined> {
  return { kind: "ofCall", absent: undefined, rule: undefined, read: () => undefined };
}

/** The same setting with another default. */
export function otherwise<K extends Kind, Value, Rule, Sizes, Absent>(
  row: Row<K, Value, Rule, Sizes>,
  absent: Absent,
): Row<K, Exclude<Value, undefined> | Absent, Rule, Sizes> {
  return { ...(row as Row<K, Exclude<Value, undefined>, Rule, Sizes>), absent };
}

/**
 * The same setting, of an option that must be given.
 *
 * @param legal - What may be given, in words.
 */
export function required<K extends Kind, Value, Rule, Sizes>(
  row: Row<K, Value, Rule, Sizes>,
  legal = row.legal!,
): Row<K, Exclude<Value, undefined>, Rule, Sizes> {
  const read = (options: OptionReader, name: string, sizes: Sizes) => {
    if (!options.has(name)) throw options.missing(name, legal);
    return row.read(options, name, sizes) as Exclude<Value, undefined>;
  };
  return { ...row, absent: undefined as never, isRequired: true, read };
}

/** Where results are. */
export const LOCATION = oneOf(["cpu", "gpu"]);

/** How a caller watches a call. */
export const WATCH = { signal: signal(), onProgress: callback() } satisfies TableOf<WatchOptions>;
