// Illegal values of the settings of a table. Those of all kinds but "own" and "ofCall" follow from the rows.

import { describe as text } from "../../web/src/base/describe.js";
import type { FloatsRule, IntegerRule, IntegersRule, NumberRule } from "../../web/src/read/settingKinds.js";
import type { Kind, Row, Table } from "../../web/src/read/settingTable.js";

/** What the lengths of lists depend on. */
export type Lengths = Readonly<Record<string, number>>;

export interface IllegalSetting {
  readonly name: string;
  readonly what: string;
  readonly error: "OptionError" | "ShapeError";
  /** A part of the message. */
  readonly message: string;
  /** undefined if a call of these lengths has no such value. */
  readonly value: (lengths: Lengths) => unknown;
}

/** An illegal value, and the words after the name in its message. */
export type Sample = readonly [value: unknown, rule: string, error?: IllegalSetting["error"]];

/** Samples of the settings whose illegal values no row tells; the compiler asks for a new one. */
export type OwnSamples<T> = {
  readonly [
    Name in keyof T as T[Name] extends Row<"own" | "ofCall", unknown, unknown, never> ? Name : never
  ]: readonly Sample[];
};

const NO_NUMBERS = [NaN, Infinity, 1e39, "1", 1n, true];

function ofNumber({ min, above, nullable, choice }: NumberRule): readonly Sample[] {
  const asker = choice === undefined ? "" : ` for "${choice}"`;
  const values = [...NO_NUMBERS, ...(nullable ? [] : [null])];
  const low: readonly Sample[] = [
    ...(min === undefined ? [] : [[min - 1, ` must be at least ${min}${asker}, got ${min - 1}`] as const]),
    ...(above === undefined ? [] : [[above, ` must be greater than ${above}${asker}, got ${above}`] as const]),
  ];
  return [...values.map((value): Sample => [value, ` must be a finite number, got ${text(value)}`]), ...low];
}

function ofInteger({ min, max }: IntegerRule): readonly Sample[] {
  const values = [
    ...NO_NUMBERS,
    null,
    0.5,
    2 ** 31,
    ...(min === undefined ? [] : [min - 1]),
    ...(max ? [max + 1] : []),
  ];
  const rule = min === undefined ? "" : ` of at least ${min}`;
  const bounds = ` from ${min ?? -(2 ** 31)} to ${max ?? 2 ** 31 - 1}`;
  // Without a largest one bounds are told where the value is an integer beyond 32 bits.
  const tellsBounds = (value: unknown) => max !== undefined || value === 1e39 || value === 2 ** 31;
  return values.map((value) => [value, ` must be an integer${tellsBounds(value) ? bounds : rule}, got ${text(value)}`]);
}

/** Of an object: no object, an unknown name, and illegal values of its own settings. */
function ofObject(table: Table): readonly Sample[] {
  const legal = Object.entries(table).filter(([, { isRequired }]) => isRequired);
  const needed = Object.fromEntries(legal.map(([name]) => [name, 1]));
  const inside = Object.entries(table).flatMap(([name, row]) =>
    samplesOf(name, row, {}).map(([value, rule, error = "OptionError"]): Sample => [
      { ...needed, [name]: value },
      `.${name}${rule}`,
      error,
    ]),
  );
  return [...[3, null, "all"].map((value): Sample => [value, ` must be an object, got ${text(value)}`]), ...inside];
}

function ofWords(words: readonly string[]): readonly Sample[] {
  const rule = ` must be ${words.map((word) => JSON.stringify(word)).join(" or ")}, got `;
  return [`${words[0]}s`, 0, null].map((value) => [value, rule + text(value)]);
}

/** Of a list: no list, a list of another length, and lists with an illegal element. */
function ofList(
  name: string,
  length: IntegersRule["length"],
  elements: readonly (readonly [element: unknown, rule: string])[],
): readonly IllegalSetting[] {
  const count = (lengths: Lengths) => lengths[length]!;
  return [
    ...[1, "steep", null].map((value): IllegalSetting => ({
      name,
      what: `${name} = ${text(value)}`,
      error: "OptionError",
      message: `${name} must be a list of numbers, got ${text(value)}`,
      value: () => value,
    })),
    {
      name,
      what: `${name} of another length`,
      error: "ShapeError",
      message: `${name} must have length`,
      value: (lengths) => new Array<number>(count(lengths) + 17).fill(1),
    },
    ...elements.map(([element, rule]): IllegalSetting => ({
      name,
      what: `${name} = [${text(element)}, …]`,
      error: "OptionError",
      message: `${name}[0] must be ${rule}`,
      value: (lengths) => (count(lengths) > 0 ? new Array<unknown>(count(lengths)).fill(element) : undefined),
    })),
  ];
}

function ofFloats(name: string, { length, minusInfinity }: FloatsRule): readonly IllegalSetting[] {
  const rule = minusInfinity ? "finite or -Infinity" : "finite";
  const elements = [NaN, Infinity, "1", ...(minusInfinity ? [] : [-Infinity])];
  return ofList(
    name,
    length,
    elements.map((element) => [element, `${rule}, got ${text(element)}`]),
  );
}

const ofIntegers = (name: string, { length }: IntegersRule) =>
  ofList(name, length, [
    ...[-1, 0.5, NaN, "1"].map((element) => [element, "an integer"] as const),
    [2 ** 20, "an integer from 0 to"], // beyond every sequence of the tests
  ]);

/** Of rows that are no lists: what is not legal, and what the message says. */
const SAMPLES: Readonly<Partial<Record<Kind, (rule: never) => readonly Sample[]>>> = {
  number: ofNumber,
  integer: ofInteger,
  flag: () => [0, 1, "true"].map((value) => [value, ` must be true or false, got ${text(value)}`]),
  oneOf: ofWords,
  object: ofObject,
  signal: () => ["now", {}, null].map((value) => [value, ` must be an AbortSignal, got ${text(value)}`]),
  callback: () => ["now", {}, null].map((value) => [value, ` must be a function, got ${text(value)}`]),
};

function samplesOf(
  name: string,
  { kind, rule, isRequired }: Row<Kind, unknown, unknown, never>,
  own: OwnSamples<Table>,
) {
  const read = SAMPLES[kind];
  const samples = read ? read(rule as never) : (own as Readonly<Record<string, readonly Sample[]>>)[name]!;
  return isRequired ? [...samples, [undefined, " must be given"] as const] : samples;
}

function illegalOf(
  name: string,
  row: Row<Kind, unknown, unknown, never>,
  own: OwnSamples<Table>,
): readonly IllegalSetting[] {
  if (row.kind === "floats") return ofFloats(name, row.rule as FloatsRule);
  if (row.kind === "integers") return ofIntegers(name, row.rule as IntegersRule);
  return samplesOf(name, row, own).map(([value, rule, error = "OptionError"]) => ({
    name,
    what: `${name} = ${text(value)}`,
    error,
    message: name + rule,
    value: () => value,
  }));
}

/** Every illegal value of the settings of a table. */
export function illegalRows<T extends Table>(table: T, own: OwnSamples<T>): readonly IllegalSetting[] {
  return Object.entries(table).flatMap(([name, row]) => illegalOf(name, row, own));
}
