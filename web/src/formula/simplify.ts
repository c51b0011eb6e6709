import type { Node, Operation } from "./graph.js";

/** What the rules need of a GraphBuilder; see there. */
export interface Maker {
  node(index: number): Node;
  valueOf(index: number): number | undefined;
  isBoolean(index: number): boolean;
  isWhole(index: number): boolean;
  number(value: number): number;
  make(op: Operation, ...of: readonly number[]): number;
}

type Rule = (maker: Maker, a: number, b: number, c: number) => number | undefined;

/**
 * Every rule gives the same float32 for all operands, NaN, infinities and −0 included. So x + 0, x − x and 0 · x have
 * no rule.
 */
const RULES: Readonly<Partial<Record<Operation, Rule>>> = {
  negate: (maker, a) => operandOf(maker, "negate", a),
  abs: (maker, a) => {
    const inner = operandOf(maker, "negate", a);
    if (inner !== undefined) return maker.make("abs", inner);
    return maker.isBoolean(a) || operandOf(maker, "abs", a) !== undefined ? a : undefined;
  },
  floor: (maker, a) => (maker.isWhole(a) || maker.node(a).op === "floor" ? a : undefined),
  not: negated,
  add: (maker, a, b) => {
    const [minusA, minusB] = [a, b].map((operand) => operandOf(maker, "negate", operand));
    if (minusB !== undefined) return maker.make("subtract", a, minusB);
    return minusA === undefined ? undefined : maker.make("subtract", b, minusA);
  },
  subtract: (maker, a, b) => {
    if (Object.is(maker.valueOf(b), 0)) return a;
    const minusB = operandOf(maker, "negate", b);
    return minusB === undefined ? undefined : maker.make("add", a, minusB);
  },
  multiply: (maker, a, b) => timesOne(maker, a, b) ?? timesOne(maker, b, a),
  divide: (maker, a, b) => {
    const inverse = 1 / (maker.valueOf(b) ?? NaN);
    return isPowerOfTwo(inverse) ? maker.make("multiply", a, maker.number(inverse)) : undefined;
  },
  power: (maker, a, b) => {
    switch (maker.valueOf(b)) {
      case 0:
        return maker.number(1);
      case 1:
        return a;
      case 2:
        return maker.make("multiply", a, a);
      case -1:
        return maker.make("divide", maker.number(1), a);
      default:
        return undefined;
    }
  },
  minimum: (_, a, b) => (a === b ? a : undefined),
  maximum: (_, a, b) => (a === b ? a : undefined),
  and: (maker, a, b) => joined(maker, a, b, 1),
  or: (maker, a, b) => joined(maker, a, b, 0),
  select: (maker, condition, yes, no) => {
    const value = maker.valueOf(condition);
    if (value !== undefined) return value === 0 ? no : yes;
    if (yes === no) return yes;
    const opposite = operandOf(maker, "not", condition);
    if (opposite !== undefined) return maker.make("select", opposite, no, yes);
    return selectedBoolean(maker, condition, yes, no);
  },
};

/** A simpler node with the value of an operation; undefined if there is none. */
export function simplified(maker: Maker, op: Operation, of: readonly number[]): number | undefined {
  const [a = 0, b = 0, c = 0] = of;
  return RULES[op]?.(maker, a, b, c);
}

/** The operand of a node, if the node is this operation. */
function operandOf(maker: Maker, op: Operation, index: number): number | undefined {
  const node = maker.node(index);
  return node.op === op ? node.of[0] : undefined;
}

function timesOne(maker: Maker, x: number, factor: number): number | undefined {
  const value = maker.valueOf(factor);
  if (value === 1) return x;
  return value === -1 ? maker.make("negate", x) : undefined;
}

/** Whether a number is ±2ⁿ, and neither it nor its inverse is subnormal in float32. */
function isPowerOfTwo(value: number): boolean {
  const exponent = Math.log2(Math.abs(value));
  return Number.isInteger(exponent) && Math.abs(exponent) <= 126;
}

function negated(maker: Maker, a: number): number | undefined {
  const { op, of } = maker.node(a);
  const [x = 0, y = 0] = of;
  switch (op) {
    case "not":
      return x;
    case "equal":
      return maker.make("notEqual", x, y);
    case "notEqual":
      return maker.make("equal", x, y);
    case "less":
      return neverNaN(maker, x, y) ? maker.make("lessOrEqual", y, x) : undefined;
    case "lessOrEqual":
      return neverNaN(maker, x, y) ? maker.make("less", y, x) : undefined;
    default:
      return undefined;
  }
}

/** With NaN a comparison and its opposite are both false. */
function neverNaN(maker: Maker, a: number, b: number): boolean {
  return [a, b].every((operand) => maker.isWhole(operand) || maker.valueOf(operand) !== undefined);
}

/** `and` with 1 and `or` with 0 is the other operand. */
function joined(maker: Maker, a: number, b: number, neutral: number): number | undefined {
  const [first, second] = [maker.valueOf(a), maker.valueOf(b)];
  if (first !== undefined) return first === neutral ? b : a;
  if (second !== undefined) return second === neutral ? a : b;
  return a === b ? a : undefined;
}

/** A select between a boolean and 1 or 0 is an `and` or an `or`. */
function selectedBoolean(maker: Maker, condition: number, yes: number, no: number): number | undefined {
  const isTruth = (operand: number, value: number) => Object.is(maker.valueOf(operand), value);
  const isLogical = (operand: number) => maker.isBoolean(operand) || isTruth(operand, 0) || isTruth(operand, 1);
  if (!isLogical(yes) || !isLogical(no)) return undefined;
  const otherwise = () => maker.make("not", condition);
  if (isTruth(yes, 1)) return maker.make("or", condition, no);
  if (isTruth(no, 0)) return maker.make("and", condition, yes);
  if (isTruth(yes, 0)) return maker.make("and", otherwise(), no);
  return isTruth(no, 1) ? maker.make("or", otherwise(), yes) : undefined;
}
