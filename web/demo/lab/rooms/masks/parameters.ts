import { grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";

/** The value of a parameter: a number, a list of numbers, or rows of numbers of the same length. */
export type Given = number | readonly number[] | readonly (readonly number[])[];

const LINE = /^\s*([A-Za-z]\w*)\s*=\s*(.*?)\s*$/s;
const MOST_NUMBERS = 4096;

/**
 * Reads lines such as `window = 7`, `slope = [0.5, 0.25]` and `table = [[1, 2], [3, 4]]`. Lists may also be written
 * without brackets, if they have a comma. Throws an error that names the line.
 */
export function readParameters(text: string): Readonly<Record<string, Given>> {
  const given = new Map<string, Given>();
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const fail = (words: string): never => {
      throw new Error(words);
    };
    const number = index + 1;
    const [, name, value] =
      LINE.exec(line) ?? fail(t`Line ${number} of the parameters is not like “window = 7” or “slope = [0.5, 0.25]”.`);
    if (given.has(name!)) fail(t`Line ${number} of the parameters gives ${name!} again.`);
    given.set(
      name!,
      readValue(value!) ??
        fail(t`Line ${number} of the parameters gives ${name!} neither a number nor a list of numbers.`),
    );
  }
  if ([...given.values()].flat(2).length > MOST_NUMBERS)
    throw new Error(t`The parameters have more than ${grouped(MOST_NUMBERS)} numbers.`);
  return Object.fromEntries(given);
}

function readValue(text: string): Given | undefined {
  const isBareList = text.includes(",") && !text.startsWith("[");
  let value: unknown;
  try {
    value = JSON.parse(isBareList ? `[${text.replace(/,\s*$/, "")}]` : text);
  } catch {
    return undefined;
  }
  if (isNumber(value) || isList(value)) return value;
  return isTable(value) ? value : undefined;
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const isList = (value: unknown): value is number[] => Array.isArray(value) && value.length > 0 && value.every(isNumber);
const isTable = (value: unknown): value is number[][] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(isList) &&
  value.every(({ length }, _, [first]) => length === first!.length);

/** The parameters whose names are in the text. */
export function parametersOf(text: string, given: Readonly<Record<string, Given>>): Readonly<Record<string, Given>> {
  const names = new Set(text.match(/[A-Za-z]\w*/g));
  return Object.fromEntries(Object.entries(given).filter(([name]) => names.has(name)));
}
