import { beginningOf } from "../../model/graphemes.js";

/** A setting of a room: its first value, and how it is read from the address. */
export interface Field<T> {
  readonly initial: T;
  /** The value of a text, limited to the legal range; undefined if the text is not a value. */
  parse(text: string): T | undefined;
  /** The text of a value in the address; absent: as JavaScript writes the value. */
  write?(value: T): string;
}

export interface NumberField extends Field<number> {
  readonly min: number;
  readonly max: number;
  readonly step: number;
}

export interface ChoiceField<T extends string = string> extends Field<T> {
  readonly options: readonly T[];
}

export type Fields = Readonly<Record<string, Field<unknown>>>;
export type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never };
export type KeyOf<F extends Fields, Kind> = { [K in keyof F]: F[K] extends Kind ? K : never }[keyof F] & string;

/** The text of a value in the address. */
export function written<T>(field: Field<T>, value: T): string {
  return field.write?.(value) ?? String(value);
}

export function flag(initial: boolean): Field<boolean> {
  return { initial, parse: (text) => (text === "true" ? true : text === "false" ? false : undefined) };
}

export function number(
  initial: number,
  { min, max, step = 1 }: { min: number; max: number; step?: number },
): NumberField {
  /** As a slider does: the nearest step. The digits beyond those of the step are rounding. */
  const onStep = (value: number) =>
    Math.min(Number((min + Math.round((value - min) / step) * step).toPrecision(12)), max);
  const parse = (text: string) => {
    const value = text.trim() === "" ? NaN : Number(text);
    return Number.isNaN(value) ? undefined : onStep(Math.min(Math.max(value, min), max));
  };
  return { initial, min, max, step, parse };
}

/** A place among others, such as that of a word. Code counts from 0; the address counts from 1, as the page does. */
export function ordinal(initial: number, { min = 0, max }: { min?: number; max: number }): NumberField {
  const inAddress = number(initial + 1, { min: min + 1, max: max + 1 });
  const parse = (text: string) => {
    const counted = inAddress.parse(text);
    return counted === undefined ? undefined : counted - 1;
  };
  return { ...number(initial, { min, max }), parse, write: (value) => String(value + 1) };
}

export function choice<T extends string>(initial: T, options: readonly T[]): ChoiceField<T> {
  return { initial, options, parse: (text) => options.find((option) => option === text) };
}

/** A text of at most `longest` characters. What is longer is cut between two signs. */
export function text(initial: string, longest = 400_000): Field<string> {
  return { initial, parse: (given) => beginningOf(given, longest) };
}
