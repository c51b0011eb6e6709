import { random } from "../../web/demo/lab/shell/random.js";
import type { Field, Fields, NumberField, ChoiceField, Values } from "../../web/demo/lab/shell/field.js";

/** Both values of a flag, all options of a choice, the ends and the middle of a slider, and the first text of a field. */
export function valuesOf(field: Field<unknown>): readonly unknown[] {
  if ("options" in field) return (field as ChoiceField).options;
  if (typeof field.initial === "boolean") return [false, true];
  if (typeof field.initial === "string") return [field.initial];
  const { min, max, step } = field as NumberField;
  return [min, min + step * Math.round((max - min) / (2 * step)), max];
}

/** Every combination of the values of these fields. */
export function* combinations<F extends Fields, K extends keyof F>(
  fields: F,
  names: readonly K[],
): Generator<Pick<Values<F>, K>> {
  const [name, ...rest] = names;
  if (name === undefined) yield {} as Pick<Values<F>, K>;
  else
    for (const others of combinations(fields, rest))
      for (const value of valuesOf(fields[name]!)) yield { [name]: value, ...others };
}

/**
 * All combinations of the fields in `first`, each with one combination of the other fields, in a mixed order. The other
 * combinations that are left over come with the first values.
 */
export function* settingsGrid<F extends Fields, K extends keyof F & string>(
  fields: F,
  first: readonly K[],
): Generator<Values<F>> {
  const others = mixed([
    ...combinations(
      fields,
      Object.keys(fields).filter((name) => !first.includes(name as K)),
    ),
  ]);
  let turn = 0;
  for (const one of combinations(fields, first)) yield { ...one, ...others[turn++ % others.length] } as Values<F>;
  while (turn < others.length) yield { ...initial(fields), ...others[turn++] };
}

/** The same list in an order that has nothing to do with its own; the same at every run (Fisher and Yates). */
function mixed<T>(list: readonly T[]): T[] {
  const order = [...list];
  const uniform = random(1);
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(uniform() * (at + 1));
    [order[at], order[other]] = [order[other]!, order[at]!];
  }
  return order;
}

export function initial<F extends Fields>(fields: F): Values<F> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.initial])) as Values<F>;
}

/** What no sentence may contain, as far as a sentence breaks it. */
export function faults(sentence: string): readonly string[] {
  const rules: readonly (readonly [string, RegExp])[] = [
    ["one of many", /(?<![\d.,])1 (?:tokens|keys|pairs|tiles|rows|queries|heads|numbers|files|steps|cores)\b/],
    [
      "many of one",
      /(?<!\.)\b(?:0|[2-9]|\d\d+) (?:token|key|pair|tile|row|query|head|number|file|step|core)\b(?! head)/,
    ],
    ["a word twice", /\b([a-z]+) \1\b/i],
    ["an exponent", /\de[+-]\d/],
    ["no value", /undefined|NaN %|\[object/],
    ["an end", /[^.!?:]$/],
    ["spaces", / {2}|^ | $| [.,:]/],
  ];
  return rules.filter(([, rule]) => rule.test(sentence)).map(([name]) => `${name}: ${sentence}`);
}

/** The numbers of a sentence, in its order. */
export function numbersIn(sentence: string): number[] {
  return [...sentence.matchAll(/[−-]?\d[\d,]*(?:\.\d+)?/g)].map(([text]) =>
    Number(text.replaceAll(",", "").replace("−", "-")),
  );
}

/** Whether the words say this share. */
export function saysShare(words: string, part: number, whole: number): boolean {
  const share = (100 * part) / whole;
  if (words.includes("less than 1\u00a0%")) return part > 0 && share < 1;
  if (words.includes("more than 99\u00a0%")) return part < whole && share > 99;
  const said = Number(/(\d+)\u00a0%/.exec(words)?.[1]);
  return Math.abs(said - share) <= 0.500001 && (said > 0 || part === 0) && (said < 100 || part === whole);
}
