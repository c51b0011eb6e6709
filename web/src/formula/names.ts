import { nearest } from "../read/suggestion.js";
import { VARIABLES } from "./graph.js";

const ONE = { least: 1, most: 1 };
const MANY = { least: 1, most: Infinity };

/** The functions of formulas, and how many arguments they need. */
const ARITY = {
  abs: ONE,
  min: MANY,
  max: MANY,
  floor: ONE,
  exp: ONE,
  log: ONE,
  sqrt: ONE,
  tanh: ONE,
  sin: ONE,
  cos: ONE,
  pow: { least: 2, most: 2 },
  sign: ONE,
  clamp: { least: 3, most: 3 },
} as const;

export type FunctionName = keyof typeof ARITY;

export const FUNCTIONS: ReadonlyMap<FunctionName, { readonly least: number; readonly most: number }> = new Map(
  Object.entries(ARITY) as [FunctionName, { readonly least: number; readonly most: number }][],
);

export const CONSTANTS: ReadonlyMap<string, number> = new Map([
  ["Infinity", Infinity],
  ["NaN", NaN],
]);

const LITERALS: readonly string[] = ["true", "false", "null", "this"];

/** Whether a name means something in every formula, so that no parameter can have it. */
export function isReserved(name: string): boolean {
  return (
    (VARIABLES as readonly string[]).includes(name) ||
    FUNCTIONS.has(name as FunctionName) ||
    CONSTANTS.has(name) ||
    LITERALS.includes(name)
  );
}

/** "; did you mean slope?" if one of `names` is close to `word` in spelling; otherwise nothing. */
export function didYouMean(word: string, names: readonly string[]): string {
  const near = nearest(word, names, word.length < 4 ? 1 : 2);
  return near === undefined ? "" : `; did you mean ${near}?`;
}
