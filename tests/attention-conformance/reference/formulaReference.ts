/**
 * Formulas by their meaning: the text is evaluated in double precision, with the range of float32 numbers that an engine
 * may give for every value. It shares nothing with the package: neither the parser, nor the graph, nor its rules.
 */

import { treeOf, type Tree } from "./formulaText.js";

/**
 * What an engine may give: a number from `low` to `high`, and NaN never, maybe or always. Booleans are 1 and 0. If NaN
 * is certain, low is above high.
 */
export interface Outcome {
  readonly low: number;
  readonly high: number;
  readonly nan: "never" | "maybe" | "always";
}

/** A table as a formula holds it. */
export interface Table {
  readonly data: ArrayLike<number>;
  readonly extents: readonly number[];
}

/** A formula as headwise/formula makes it. Only its text, and the names and values of its parameters are read. */
export interface Formula {
  readonly text: string;
  readonly graph: { readonly parameters: readonly { readonly name: string }[] };
  readonly values: readonly (number | Table)[];
}

/** The values of the variables at one pair of a query and a key. */
export type Variables = Readonly<Record<string, Outcome>>;

const { abs, floor, fround, max, min } = Math;

/** Half the distance from 1 to the next float32. */
const EPSILON = 2 ** -24;
const LARGEST = (2 - 2 ** -23) * 2 ** 127;
/** Engines may write zero for smaller numbers. */
const TINY = 2 ** -126;

/** Errors that the engines state, in units of EPSILON of the value; and those of sin and cos, which are absolute. */
const ERRORS = { arithmetic: 1, divide: 6, sqrt: 6, exp: 8, log: 8, tanh: 8, pow: 16 };
const WAVE_ERROR = 2 ** -21;
/** Up to here sin and cos are stated. */
const FARTHEST_ANGLE = 2 ** 16;
/** Up to this quotient a remainder is stated. */
const LARGEST_QUOTIENT = 2 ** 20;

export const NAN: Outcome = { low: Infinity, high: -Infinity, nan: "always" };
export const ANYTHING: Outcome = { low: -Infinity, high: Infinity, nan: "maybe" };
export const TRUE = exactly(1);
export const FALSE = exactly(0);
export const EITHER: Outcome = { low: 0, high: 1, nan: "never" };

export function exactly(value: number): Outcome {
  return Number.isNaN(value) ? NAN : { low: value, high: value, nan: "never" };
}

export const isPoint = ({ low, high, nan }: Outcome) => nan === "never" && low === high;

export function either(...all: readonly Outcome[]): Outcome {
  return {
    low: min(...all.map(({ low }) => low)),
    high: max(...all.map(({ high }) => high)),
    nan: joinedNan(all),
  };
}

/** Whether one of several outcomes is NaN. */
export function joinedNan(all: readonly Outcome[]): Outcome["nan"] {
  if (all.every(({ nan }) => nan === "always")) return "always";
  return all.every(({ nan }) => nan === "never") ? "never" : "maybe";
}

/** Whether a value counts as true; undefined if that is open. */
export function truthOf({ low, high, nan }: Outcome): boolean | undefined {
  if (nan === "always" || (low === 0 && high === 0)) return false;
  return nan === "never" && (low > 0 || high < 0) ? true : undefined;
}

/** The range of float32 numbers of a result that lies in [low, high] before it is rounded. */
function rounded(low: number, high: number, units: number, nan: Outcome["nan"] = "never"): Outcome {
  const error = (x: number) => (Number.isFinite(x) ? units * EPSILON * abs(x) + (abs(x) < 2 * TINY ? TINY : 0) : 0);
  const limited = (x: number, surely: number) => (abs(x) > LARGEST * surely ? Math.sign(x) * Infinity : x);
  // the end nearer to zero is infinite only if the result surely overflows
  const [first, last] = [low - error(low), high + error(high)];
  return { low: limited(first, first > 0 ? 1 + 2 ** -20 : 1), high: limited(last, last < 0 ? 1 + 2 ** -20 : 1), nan };
}

/** A function that takes its smallest and largest values at the ends of its operands' ranges. */
function atEnds(f: (a: number, b: number) => number, a: Outcome, b: Outcome, units: number): Outcome {
  if (a.nan === "always" || b.nan === "always") return NAN;
  const ends = [f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)];
  let [low, high, numbers] = [Infinity, -Infinity, 0];
  for (const end of ends)
    if (!Number.isNaN(end)) {
      low = min(low, end);
      high = max(high, end);
      numbers += 1;
    }
  const nan = a.nan === "never" && b.nan === "never" && numbers === ends.length ? "never" : "maybe";
  if (numbers === 0) return nan === "maybe" && isPoint(a) && isPoint(b) ? NAN : ANYTHING;
  // a sum or product that float32 holds exactly is not rounded
  const isExact = units === ERRORS.arithmetic ? fround(low) === low : low === 0 || abs(low) === Infinity;
  if (low === high && isExact && isPoint(a) && isPoint(b)) return { low, high, nan };
  return rounded(low, high, units, nan);
}

function rising(f: (x: number) => number, units: number, a: Outcome): Outcome {
  return atEnds((x) => f(x), a, FALSE, units);
}

export const contains = ({ low, high }: Outcome, x: number) => low <= x && x <= high;

function product(a: Outcome, b: Outcome): Outcome {
  const hasInfinity = (x: Outcome) => contains(x, Infinity) || contains(x, -Infinity);
  if (!isPoint(a) || !isPoint(b))
    if ((contains(a, 0) && hasInfinity(b)) || (contains(b, 0) && hasInfinity(a))) return ANYTHING;
  return atEnds((x, y) => x * y, a, b, ERRORS.arithmetic);
}

function quotient(a: Outcome, b: Outcome): Outcome {
  if (a.nan === "always" || b.nan === "always") return NAN;
  if (contains(b, 0)) return isPoint(a) && isPoint(b) && a.low === 0 ? NAN : ANYTHING; // the sign of a zero is open
  const result = atEnds((x, y) => x / y, a, b, ERRORS.divide);
  if (!isPoint(a) || !isPoint(b) || !isWhole(a.low) || !isWhole(b.low)) return result;
  // a quotient of whole numbers is on the right side of every whole number
  const exact = a.low / b.low;
  if (Number.isInteger(exact)) return exactly(fround(exact));
  return { ...result, low: max(result.low, floor(exact)), high: min(result.high, below(floor(exact) + 1)) };
}

const isWhole = (x: number) => Number.isInteger(x) && abs(x) < 2 ** 24;

/** A number just below, so that its floor is the one of all smaller numbers. */
const below = (x: number) => x - abs(x) * 2 ** -40 - 2 ** -40;

function remainder(a: Outcome, b: Outcome): Outcome {
  if (a.nan === "always" || b.nan === "always") return NAN;
  if (isPoint(a) && isPoint(b)) {
    const size = abs(a.low / b.low);
    if (b.low !== 0 && size >= LARGEST_QUOTIENT && size < Infinity) return ANYTHING;
    return exactly(a.low % b.low);
  }
  const quotients = wholeQuotient(a, b);
  if (isPoint(b) && quotients !== undefined) return { low: a.low % b.low, high: a.high % b.low, nan: "never" };
  const furthest = max(abs(b.low), abs(b.high));
  const isSafe = joinedNan([a, b]) === "never" && !contains(b, 0) && Number.isFinite(a.low) && Number.isFinite(a.high);
  const isStated = max(abs(a.low), abs(a.high)) / min(abs(b.low), abs(b.high)) < LARGEST_QUOTIENT;
  return isSafe && isStated
    ? { low: a.low < 0 ? -furthest : 0, high: a.high > 0 ? furthest : 0, nan: "never" }
    : ANYTHING;
}

/** trunc(a / b), which a - a % b is a multiple of; undefined if it is open. */
export function wholeQuotient(a: Outcome, b: Outcome): number | undefined {
  if (joinedNan([a, b]) !== "never" || contains(b, 0)) return undefined;
  const all = [a.low, a.high].flatMap((x) => [b.low, b.high].map((y) => Math.trunc(x / y)));
  return abs(all[0]!) < LARGEST_QUOTIENT && all.every((each) => each === all[0]) ? all[0] : undefined;
}

function power(a: Outcome, b: Outcome): Outcome {
  if (isPoint(b)) {
    if (b.low === 0) return TRUE;
    if (b.low === 1) return a;
    if (b.low === 2) return product(a, a);
    if (b.low === -1) return quotient(TRUE, a);
  }
  if (a.nan === "always" || b.nan === "always") return a.nan === "always" && !contains(b, 0) ? NAN : ANYTHING;
  const isFinite = [a.low, a.high, b.low, b.high].every(Number.isFinite);
  if (!isFinite || joinedNan([a, b]) !== "never") return ANYTHING;
  if (a.low > 0) return atEnds((x, y) => x ** y, a, b, ERRORS.pow);
  if (isPoint(a) && isPoint(b) && a.low < 0)
    return Number.isInteger(b.low) ? atEnds((x, y) => x ** y, a, b, ERRORS.pow) : NAN;
  if (isPoint(b) && Number.isInteger(b.low) && (a.high < 0 || b.low > 0)) {
    // rising on each side of 0
    const { low, high, nan } = atEnds((x, y) => x ** y, a, b, ERRORS.pow);
    return contains(a, 0) ? { low: min(low, 0), high: max(high, 0), nan } : { low, high, nan };
  }
  return ANYTHING;
}

/** sin or cos, whose slope is at most 1. */
function wave(f: (x: number) => number, a: Outcome): Outcome {
  if (a.nan === "always" || (isPoint(a) && abs(a.low) === Infinity)) return NAN;
  if (!Number.isFinite(a.low) || !Number.isFinite(a.high)) return { low: -1, high: 1, nan: "maybe" };
  const middle = (a.low + a.high) / 2;
  const reach = max(abs(a.low), abs(a.high)) > FARTHEST_ANGLE ? 2 : (a.high - a.low) / 2 + WAVE_ERROR;
  return { low: max(f(middle) - reach, -1), high: min(f(middle) + reach, 1), nan: a.nan };
}

function extreme(pick: (...all: number[]) => number, a: Outcome, b: Outcome): Outcome {
  if (a.nan === "always" || b.nan === "always") return NAN;
  return { low: pick(a.low, b.low), high: pick(a.high, b.high), nan: joinedNan([a, b]) };
}

function negated({ low, high, nan }: Outcome): Outcome {
  return { low: -high, high: -low, nan };
}

function absolute(a: Outcome): Outcome {
  if (a.nan === "always") return NAN;
  const ends = [abs(a.low), abs(a.high)];
  return { low: contains(a, 0) ? 0 : min(...ends), high: max(...ends), nan: a.nan };
}

function root(a: Outcome): Outcome {
  if (a.nan === "always" || a.high < 0) return NAN;
  const result = rising((x) => Math.sqrt(max(x, 0)), ERRORS.sqrt, a);
  return a.low < 0 ? { ...result, nan: "maybe" } : result;
}

function logarithm(a: Outcome): Outcome {
  if (a.nan === "always" || a.high < 0) return NAN;
  const result = rising((x) => Math.log(max(x, 0)), ERRORS.log, a);
  return a.low < 0 ? { ...result, nan: "maybe" } : result;
}

/** Whether `test` holds: certainly, certainly not, or open. NaN never compares. */
export function compared(sign: string, a: Outcome, b: Outcome): Outcome {
  switch (sign) {
    case ">":
      return compared("<", b, a);
    case ">=":
      return compared("<=", b, a);
    case "!=":
    case "!==":
      return inverted(compared("==", a, b));
    case "===":
      return compared("==", a, b);
  }
  if (a.nan === "always" || b.nan === "always") return FALSE;
  const holds = {
    "<": () => ({ surely: a.high < b.low, never: a.low >= b.high }),
    "<=": () => ({ surely: a.high <= b.low, never: a.low > b.high }),
    "==": () => ({ surely: a.low === b.high && a.high === b.low, never: a.high < b.low || a.low > b.high }),
  }[sign]!();
  if (holds.never) return FALSE;
  return holds.surely && joinedNan([a, b]) === "never" ? TRUE : EITHER;
}

export function inverted(a: Outcome): Outcome {
  const truth = truthOf(a);
  return truth === undefined ? EITHER : truth ? FALSE : TRUE;
}

export function chosen(test: Outcome, yes: () => Outcome, no: () => Outcome): Outcome {
  const truth = truthOf(test);
  return truth === undefined ? either(yes(), no()) : truth ? yes() : no();
}

function signOf(a: Outcome): Outcome {
  if (a.nan === "always") return NAN;
  return { low: Math.sign(a.low), high: Math.sign(a.high), nan: a.nan };
}

export const CALLS: Readonly<Record<string, (...of: Outcome[]) => Outcome>> = {
  abs: (a) => absolute(a),
  floor: (a) => ({ low: floor(a.low), high: floor(a.high), nan: a.nan }),
  sign: (a) => signOf(a),
  exp: (a) => rising(Math.exp, ERRORS.exp, a),
  tanh: (a) => rising(Math.tanh, ERRORS.tanh, a),
  sqrt: (a) => root(a),
  log: (a) => logarithm(a),
  sin: (a) => wave(Math.sin, a),
  cos: (a) => wave(Math.cos, a),
  pow: (a, b) => power(a, b),
  min: (...of) => of.reduce((a, b) => extreme(min, a, b)),
  max: (...of) => of.reduce((a, b) => extreme(max, a, b)),
  clamp: (x, low, high) => extreme(min, extreme(max, x, low), high),
};

export const ARITHMETIC: Readonly<Record<string, (a: Outcome, b: Outcome) => Outcome>> = {
  "+": (a, b) => atEnds((x, y) => x + y, a, b, ERRORS.arithmetic),
  "-": (a, b) => atEnds((x, y) => x - y, a, b, ERRORS.arithmetic),
  "*": product,
  "/": quotient,
  "%": remainder,
  "**": power,
};

/** The element of a table. An index outside, or NaN, gives 0. */
export function element({ data, extents }: Table, indices: readonly Outcome[]): Outcome {
  const found: Outcome[] = [];
  const visit = (axis: number, place: number): void => {
    if (axis === extents.length) {
      found.push(exactly(data[place]!));
      return;
    }
    const { low, high, nan } = indices[axis]!;
    const [first, last] = [max(floor(low), 0), min(floor(high), extents[axis]! - 1)];
    if (nan !== "never" || floor(low) < 0 || floor(high) >= extents[axis]!) found.push(FALSE);
    for (let index = first; index <= last; ++index) visit(axis + 1, place * extents[axis]! + index);
  };
  visit(0, 0);
  return found.length === 0 ? FALSE : either(...found);
}

type Evaluate = (variables: Variables) => Outcome;

/** A function that evaluates a formula at a pair. */
export function evaluator({ text, graph, values }: Formula): Evaluate {
  const parameters = new Map(graph.parameters.map(({ name }, n) => [name, values[n]!]));
  const compiled = (tree: Tree): Evaluate => {
    switch (tree.kind) {
      case "number": {
        const value = exactly(fround(tree.value));
        return () => value;
      }
      case "boolean":
        return () => (tree.value ? TRUE : FALSE);
      case "name": {
        const constant = { Infinity, NaN }[tree.name] ?? parameters.get(tree.name);
        if (constant === undefined) return (variables) => variables[tree.name]!;
        const value = exactly(constant as number);
        return () => value;
      }
      case "element": {
        const indices = tree.indices.map(compiled);
        const table = parameters.get(tree.table) as Table;
        return (variables) =>
          element(
            table,
            indices.map((index) => index(variables)),
          );
      }
      case "unary": {
        const operand = compiled(tree.operand);
        if (tree.sign === "!") return (variables) => inverted(operand(variables));
        return tree.sign === "-" ? (variables) => negated(operand(variables)) : operand;
      }
      case "binary":
        return binary(tree.sign, compiled(tree.left), compiled(tree.right));
      case "call": {
        const of = tree.of.map(compiled);
        const call = CALLS[tree.name]!;
        return (variables) => call(...of.map((operand) => operand(variables)));
      }
      case "choice": {
        const [test, yes, no] = [tree.test, tree.yes, tree.no].map(compiled);
        return (variables) =>
          chosen(
            test!(variables),
            () => yes!(variables),
            () => no!(variables),
          );
      }
    }
  };
  return compiled(treeOf(text));
}

function binary(sign: string, left: Evaluate, right: Evaluate): Evaluate {
  const arithmetic = ARITHMETIC[sign];
  if (arithmetic) return (variables) => arithmetic(left(variables), right(variables));
  if (sign !== "&&" && sign !== "||") return (variables) => compared(sign, left(variables), right(variables));
  return (variables) => {
    const a = left(variables);
    const b = () => right(variables);
    return sign === "&&" ? chosen(a, b, () => a) : chosen(a, () => a, b);
  };
}
