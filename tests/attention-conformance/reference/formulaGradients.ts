/**
 * The derivatives of formulas by their meaning: each value carries its derivative by the score and by every parameter
 * that it read (forward mode, on the syntax tree). All numbers are ranges, as in formulaReference.ts. The package
 * differentiates graphs; the two share nothing.
 */

import {
  ANYTHING,
  ARITHMETIC,
  CALLS,
  compared,
  EITHER,
  either,
  element,
  exactly,
  FALSE,
  inverted,
  isPoint,
  TRUE,
  truthOf,
  wholeQuotient,
  type Formula,
  type Outcome,
  type Table,
  type Variables,
} from "./formulaReference.js";
import { treeOf, type Tree } from "./formulaText.js";

/** By what a formula is differentiated: `"s"`, the name of a number, or `name[flat index]` of a table. */
type Source = string;

/** A value, and its derivatives. An absent derivative is 0. */
export interface Dual {
  readonly value: Outcome;
  readonly by: ReadonlyMap<Source, Outcome>;
}

type Evaluate = (variables: Variables) => Dual;

const NOTHING: ReadonlyMap<Source, Outcome> = new Map();
const constant = (value: Outcome): Dual => ({ value, by: NOTHING });

const add = (a: Outcome, b: Outcome) => ARITHMETIC["+"]!(a, b);
const subtract = (a: Outcome, b: Outcome) => ARITHMETIC["-"]!(a, b);
const multiply = (a: Outcome, b: Outcome) => ARITHMETIC["*"]!(a, b);
const divide = (a: Outcome, b: Outcome) => ARITHMETIC["/"]!(a, b);
const negate = (a: Outcome) => subtract(FALSE, a);

/** The chain rule: each operand with the derivative by it, which is computed only if the operand has derivatives. */
function chain(value: Outcome, ...parts: readonly (readonly [Dual, () => Outcome])[]): Dual {
  const by = new Map<Source, Outcome>();
  for (const [operand, factor] of parts) {
    if (operand.by.size === 0) continue;
    const slope = factor();
    for (const [source, derivative] of operand.by) {
      const term = multiply(slope, derivative);
      const before = by.get(source);
      by.set(source, before ? add(before, term) : term);
    }
  }
  return { value, by };
}

/** Without derivatives that are 0. A slope that is infinite at 0, where the value is not, would make NaN of them. */
function moving({ value, by }: Dual): Dual {
  const isStill = (derivative: Outcome) => isPoint(derivative) && derivative.low === 0;
  return { value, by: new Map([...by].filter(([, derivative]) => !isStill(derivative))) };
}

/** One of several values. */
function oneOf(value: Outcome, ...all: readonly Dual[]): Dual {
  const sources = new Set(all.flatMap(({ by }) => [...by.keys()]));
  const by = new Map(
    [...sources].map((source) => [source, either(...all.map((each) => each.by.get(source) ?? FALSE))]),
  );
  return { value, by };
}

function choose(test: Outcome, yes: () => Dual, no: () => Dual): Dual {
  const truth = truthOf(test);
  if (truth !== undefined) return truth ? yes() : no();
  const [first, second] = [yes(), no()];
  return oneOf(either(first.value, second.value), first, second);
}

/** The sign of what abs turns: at 0 it is 0. */
function signOf({ low, high, nan }: Outcome): Outcome {
  return { low: Math.sign(low), high: Math.sign(high), nan };
}

/** max(a, b) or min(a, b). If both may be equal, the derivative is that of either. */
function extreme(name: "min" | "max", a: Dual, b: Dual): Dual {
  const value = CALLS[name]!(a.value, b.value);
  const isFirst = truthOf(compared(name === "max" ? ">" : "<", a.value, b.value));
  const isSecond = truthOf(compared(name === "max" ? "<" : ">", a.value, b.value));
  if (value.nan !== "never" || (!isFirst && !isSecond)) return oneOf(value, a, b);
  return { value, by: (isFirst ? a : b).by };
}

function power(a: Dual, b: Dual): Dual {
  const value = CALLS.pow!(a.value, b.value);
  const byBase = () => {
    if (isPoint(b.value)) {
      if (b.value.low === 0) return FALSE;
      if (b.value.low === 1) return TRUE;
    }
    return multiply(b.value, CALLS.pow!(a.value, subtract(b.value, TRUE)));
  };
  const byExponent = () => {
    if (isPoint(a.value) && a.value.low === 0) return isPoint(b.value) && b.value.low > 0 ? FALSE : ANYTHING;
    return multiply(value, CALLS.log!(a.value));
  };
  return chain(value, [moving(a), byBase], [b, byExponent]);
}

type Apply = (...of: Dual[]) => Dual;

/** A function of one operand, and its derivative from the operand and the value. */
function smooth(name: string, slope: (x: Outcome, value: Outcome) => Outcome): Apply {
  return (a) => {
    const value = CALLS[name]!(a.value);
    return chain(value, [a, () => slope(a.value, value)]);
  };
}

/** A function whose derivative is 0 wherever it has one. */
const flat =
  (name: string): Apply =>
  (a) =>
    constant(CALLS[name]!(a.value));

const APPLY: Readonly<Record<string, Apply>> = {
  abs: smooth("abs", signOf),
  floor: flat("floor"),
  sign: flat("sign"),
  exp: smooth("exp", (_, value) => value),
  tanh: smooth("tanh", (_, value) => subtract(TRUE, multiply(value, value))),
  sqrt: (a) => smooth("sqrt", (_, value) => divide(exactly(0.5), value))(moving(a)),
  log: smooth("log", (x) => divide(TRUE, x)),
  sin: smooth("sin", (x) => CALLS.cos!(x)),
  cos: smooth("cos", (x) => negate(CALLS.sin!(x))),
  pow: (a, b) => power(a, b),
  min: (...of) => of.reduce((a, b) => extreme("min", a, b)),
  max: (...of) => of.reduce((a, b) => extreme("max", a, b)),
  clamp: (x, low, high) => extreme("min", extreme("max", x, low), high),
};

function arithmetic(sign: string, a: Dual, b: Dual): Dual {
  if (sign === "**") return power(a, b);
  const value = ARITHMETIC[sign]!(a.value, b.value);
  switch (sign) {
    case "+":
      return chain(value, [a, () => TRUE], [b, () => TRUE]);
    case "-":
      return chain(value, [a, () => TRUE], [b, () => exactly(-1)]);
    case "*":
      return chain(value, [a, () => b.value], [b, () => a.value]);
    case "/":
      return chain(value, [a, () => divide(TRUE, b.value)], [b, () => negate(divide(value, b.value))]);
    default:
      // a % b = a − n · b, where n is whole
      return chain(value, [a, () => TRUE], [b, () => minusWholeQuotient(a.value, b.value)]);
  }
}

function minusWholeQuotient(a: Outcome, b: Outcome): Outcome {
  const quotient = wholeQuotient(a, b);
  return quotient === undefined ? ANYTHING : exactly(-quotient);
}

/** The elements that may be read: one if the indices are certain. */
function read(name: string, table: Table, indices: readonly Outcome[]): Dual {
  const value = element(table, indices);
  const certain = indices.every(({ low, high, nan }) => nan === "never" && Math.floor(low) === Math.floor(high));
  const by = new Map<Source, Outcome>();
  const visit = (axis: number, place: number): void => {
    const extent = table.extents[axis];
    if (extent === undefined) {
      by.set(`${name}[${place}]`, certain ? TRUE : EITHER);
      return;
    }
    const { low, high } = indices[axis]!;
    const last = Math.min(Math.floor(high), extent - 1);
    for (let index = Math.max(Math.floor(low), 0); index <= last; ++index) visit(axis + 1, place * extent + index);
  };
  visit(0, 0);
  return { value, by };
}

/** A function that evaluates a formula and its derivatives at a pair. */
export function gradientEvaluator({ text, graph, values }: Formula): Evaluate {
  const parameters = new Map(graph.parameters.map(({ name }, n) => [name, values[n]!]));
  const compiled = (tree: Tree): Evaluate => {
    switch (tree.kind) {
      case "number": {
        const value = constant(exactly(Math.fround(tree.value)));
        return () => value;
      }
      case "boolean":
        return () => constant(tree.value ? TRUE : FALSE);
      case "name":
        return named(tree.name, parameters.get(tree.name) as number | undefined);
      case "element": {
        const indices = tree.indices.map(compiled);
        const table = parameters.get(tree.table) as Table;
        return (variables) =>
          read(
            tree.table,
            table,
            indices.map((index) => index(variables).value),
          );
      }
      case "unary": {
        const operand = compiled(tree.operand);
        if (tree.sign === "!") return (variables) => constant(inverted(operand(variables).value));
        if (tree.sign === "+") return operand;
        return (variables) => {
          const a = operand(variables);
          return chain(negatedExactly(a.value), [a, () => exactly(-1)]);
        };
      }
      case "binary":
        return binary(tree.sign, compiled(tree.left), compiled(tree.right));
      case "call": {
        const of = tree.of.map(compiled);
        const apply = APPLY[tree.name]!;
        return (variables) => apply(...of.map((operand) => operand(variables)));
      }
      case "choice": {
        const [test, yes, no] = [tree.test, tree.yes, tree.no].map(compiled);
        return (variables) =>
          choose(
            test!(variables).value,
            () => yes!(variables),
            () => no!(variables),
          );
      }
    }
  };
  return compiled(treeOf(text));
}

function negatedExactly({ low, high, nan }: Outcome): Outcome {
  return { low: -high, high: -low, nan };
}

function named(name: string, parameter: number | undefined): Evaluate {
  const value = { Infinity, NaN }[name];
  if (value !== undefined) return () => constant(exactly(value));
  if (parameter !== undefined) {
    const dual: Dual = { value: exactly(parameter), by: new Map([[name, TRUE]]) };
    return () => dual;
  }
  const by = name === "s" ? new Map([["s", TRUE]]) : NOTHING;
  return (variables) => ({ value: variables[name]!, by });
}

function binary(sign: string, left: Evaluate, right: Evaluate): Evaluate {
  if (sign in ARITHMETIC) return (variables) => arithmetic(sign, left(variables), right(variables));
  if (sign !== "&&" && sign !== "||")
    return (variables) => constant(compared(sign, left(variables).value, right(variables).value));
  return (variables) => {
    const a = left(variables);
    const b = () => right(variables);
    return sign === "&&" ? choose(a.value, b, () => a) : choose(a.value, () => a, b);
  };
}

/** Whether a derivative is stated at all: a finite range without NaN. */
export function isStated({ low, high, nan }: Outcome): boolean {
  return nan === "never" && Number.isFinite(low) && Number.isFinite(high);
}
