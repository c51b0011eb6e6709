import type { NumberList, OptionReader } from "./options.js";

/** A setting: what it is if the option is absent, and how a given option is read. */
export interface Row<K extends Kind = Kind, Value = unknown, Rule = undefined, Sizes = unknown> {
  readonly kind: K;
  readonly absent: Value;
  /** Of the kind. The tests make illegal values from it. */
  readonly rule: Rule;
  /** What may be given, in words. */
  readonly legal?: string;
  /** Whether the option must be given; `read` throws if it is not. */
  readonly isRequired?: boolean;
  readonly read: (options: OptionReader, name: string, sizes: Sizes) => Value;
}

/** The types of options that each kind reads. What no other kind reads has a reader of its own. */
interface OptionOf {
  readonly number: number;
  readonly integer: number;
  readonly flag: boolean;
  readonly integers: NumberList;
  readonly floats: NumberList;
  readonly oneOf: string;
  readonly object: object;
  readonly signal: AbortSignal;
  readonly callback: (...values: never[]) => unknown;
  readonly own: unknown;
  readonly ofCall: unknown;
}

export type Kind = keyof OptionOf;

/** The kinds that can read an option of this type. */
type KindOf<Option> = {
  [K in Kind]: [NonNullable<Option>] extends [OptionOf[K]] ? K : never;
}[Kind];

/** A row for each setting. `Sizes` is what their readers need. Options are read in the order of the rows. */
export type Table<Sizes = never> = Readonly<Record<string, Row<Kind, unknown, unknown, Sizes>>>;

/** A table of the settings of an interface: a row for each, of a kind that reads its type. */
export type TableOf<Options, Sizes = unknown> = {
  readonly [Name in keyof Options]-?: Row<KindOf<Options[Name]>, unknown, unknown, Sizes>;
};

/** The settings as they are read, with defaults. */
export type Checked<T> = {
  readonly [
    Name in keyof T as T[Name] extends Row<"ofCall", unknown, unknown, never> ? never : Name
  ]: T[Name] extends Row<Kind, infer Value, unknown, never> ? Value : never;
};

/** The names of the settings of a table. */
export function namesIn<T extends Table>(table: T): readonly (keyof T & string)[] {
  return Object.keys(table);
}

/** What each table's settings are read into. Own properties: what stands on Object.prototype could forbid to make them. */
const BLANKS = new WeakMap<object, Readonly<Record<string, unknown>>>();

function blankOf<Sizes>(table: Table<Sizes>): Readonly<Record<string, unknown>> {
  const made = BLANKS.get(table);
  if (made) return made;
  const names = Object.keys(table).filter((name) => table[name]!.kind !== "ofCall");
  const blank = Object.fromEntries(names.map((name) => [name, undefined]));
  BLANKS.set(table, blank);
  return blank;
}

/** Reads all settings of a table, except those that only their operation can read. */
export function readTable<Sizes, T extends Table<Sizes>>(
  options: OptionReader,
  table: T,
  sizes = {} as Sizes,
): Checked<T> {
  const settings: Record<string, unknown> = { ...blankOf(table) };
  for (const name of Object.keys(settings)) settings[name] = readRow(options, name, table[name]!, sizes);
  return settings as Checked<T>;
}

/** Reads one setting. */
export function readRow<Value, Sizes>(
  options: OptionReader,
  name: string,
  { absent, isRequired, read }: Row<Kind, Value, unknown, Sizes>,
  sizes = {} as Sizes,
): Value {
  return isRequired || options.has(name) ? read(options, name, sizes) : absent;
}
