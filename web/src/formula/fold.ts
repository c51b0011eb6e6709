import type { Operation } from "./graph.js";

/** Beyond about this quotient engines differ in a remainder, so it is theirs. */
const MOST_QUOTIENT = 2 ** 27;

const FOLDS: Readonly<Partial<Record<Operation, (...operands: number[]) => number>>> = {
  negate: (a) => -a,
  abs: Math.abs,
  floor: Math.floor,
  sign: Math.sign,
  sqrt: Math.sqrt,
  exp: Math.exp,
  log: Math.log,
  tanh: Math.tanh,
  sin: Math.sin,
  cos: Math.cos,
  not: (a) => +(a === 0),
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  remainder: (a, b) => (Math.abs(a / b) < MOST_QUOTIENT ? a % b : NaN),
  power: (a, b) => a ** b,
  minimum: Math.min,
  maximum: Math.max,
  less: (a, b) => +(a < b),
  lessOrEqual: (a, b) => +(a <= b),
  equal: (a, b) => +(a === b),
  notEqual: (a, b) => +(a !== b),
  and: (a, b) => +(a !== 0 && b !== 0),
  or: (a, b) => +(a !== 0 || b !== 0),
  select: (a, b, c) => (a !== 0 ? b : c),
};

/**
 * An operation on numbers, computed in double precision and rounded to float32. undefined if the operation is no
 * function of numbers, or if the result is NaN: a graph holds no NaN.
 */
export function folded(op: Operation, operands: readonly number[]): number | undefined {
  const value = Math.fround(FOLDS[op]?.(...operands) ?? NaN);
  return Number.isNaN(value) ? undefined : value;
}
