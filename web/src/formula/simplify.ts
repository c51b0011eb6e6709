import type { GraphBuilder } from "./graphBuilder.js";
import type { Operation } from "./graph.js";

type Rule = (builder: GraphBuilder, a: number, b: number, c: number) => number | undefined;

/**
 * Every rule gives the same float32 for all operands, NaN, infinities and −0 included. So x + 0, x − x and 0 · x have
 * no rule.
 */
const RULES: Readonly<Partial<Record<Operation, Rule>>> = {
  negate: (builder, a) => operandOf(builder, "negate", a),
  abs: (builder, a) => {
    const inner = operandOf(builder, "negate", a);
    if (inner !== undefined) return builder.make("abs", inner);
    return builder.isBoolean(a) || operandOf(builder, "abs", a) !== undefined ? a : undefined;
  },
  floor: (builder, a) => (builder.isWhole(a) || builder.node(a).op === "floor" ? a : undefined),
  not: negated,
  add: (builder, a, b) => {
    const [minusA, minusB] = [a, b].map((operand) => operandOf(builder, "negate", operand));
    if (minusB !== undefined) return builder.make("subtract", a, minusB);
    return minusA === undefined ? undefined : builder.make("subtract", b, minusA);
  },
  subtract: (builder, a, b) => {
    if (Object.is(builder.valueOf(b), 0)) return a;
    const minusB = operandOf(builder, "negate", b);
    return minusB === undefined ? undefined : builder.make("add", a, minusB);
  },
  multiply: (builder, a, b) => timesOne(builder, a, b) ?? timesOne(builder, b, a),
  divide: (builder, a, b) => {
    const inverse = 1 / (builder.valueOf(b) ?? NaN);
    return isPowerOfTwo(inverse) ? builder.make("multiply", a, builder.number(inverse)) : undefined;
  },
  power: (builder, a, b) => {
    switch (builder.valueOf(b)) {
      case 0:
        return builder.number(1);
      case 1:
        return a;
      case 2:
        return builder.make("multiply", a, a);
      case -1:
        return builder.make("divide", builder.number(1), a);
      default:
        return undefined;
    }
  },
  minimum: (_, a, b) => (a === b ? a : undefined),
  maximum: (_, a, b) => (a === b ? a : undefined),
  and: (builder, a, b) => joined(builder, a, b, 1),
  or: (builder, a, b) => joined(builder, a, b, 0),
  select: (builder, condition, yes, no) => {
    const value = builder.valueOf(condition);
    if (value !== undefined) return value === 0 ? no : yes;
    if (yes === no) return yes;
    const opposite = operandOf(builder, "not", condition);
    if (opposite !== undefined) return builder.make("select", opposite, no, yes);
    return selectedBoolean(builder, condition, yes, no);
  },
};

/** A simpler node with the value of an operation; undefined if there is none. */
export function simplified(builder: GraphBuilder, op: Operation, of: readonly number[]): number | undefined {
  const [a = 0, b = 0, c = 0] = of;
  return RULES[op]?.(builder, a, b, c);
}

/** The operand of a node, if the node is this operation. */
function operandOf(builder: GraphBuilder, op: Operation, index: number): number | undefined {
  const node = builder.node(index);
  return node.op === op ? node.of[0] : undefined;
}

function timesOne(builder: GraphBuilder, x: number, factor: number): number | undefined {
  const value = builder.valueOf(factor);
  if (value === 1) return x;
  return value === -1 ? builder.make("negate", x) : undefined;
}

/** Whether a number is ±2ⁿ, and neither it nor its inverse is subnormal in float32. */
function isPowerOfTwo(value: number): boolean {
  const exponent = Math.log2(Math.abs(value));
  return Number.isInteger(exponent) && Math.abs(exponent) <= 126;
}

function negated(builder: GraphBuilder, a: number): number | undefined {
  const { op, of } = builder.node(a);
  const [x = 0, y = 0] = of;
  switch (op) {
    case "not":
      return x;
    case "equal":
      return builder.make("notEqual", x, y);
    case "notEqual":
      return builder.make("equal", x, y);
    case "less":
      return neverNaN(builder, x, y) ? builder.make("lessOrEqual", y, x) : undefined;
    case "lessOrEqual":
      return neverNaN(builder, x, y) ? builder.make("less", y, x) : undefined;
    default:
      return undefined;
  }
}

/** With NaN a comparison and its opposite are both false. */
function neverNaN(builder: GraphBuilder, a: number, b: number): boolean {
  return [a, b].every((operand) => builder.isWhole(operand) || builder.valueOf(operand) !== undefined);
}

/** `and` with 1 and `or` with 0 is the other operand. */
function joined(builder: GraphBuilder, a: number, b: number, neutral: number): number | undefined {
  const [first, second] = [builder.valueOf(a), builder.valueOf(b)];
  if (first !== undefined) return first === neutral ? b : a;
  if (second !== undefined) return second === neutral ? a : b;
  return a === b ? a : undefined;
}

/** A select between a boolean and 1 or 0 is an `and` or an `or`. */
function selectedBoolean(builder: GraphBuilder, condition: number, yes: number, no: number): number | undefined {
  const isTruth = (operand: number, value: number) => Object.is(builder.valueOf(operand), value);
  const isLogical = (operand: number) => builder.isBoolean(operand) || isTruth(operand, 0) || isTruth(operand, 1);
  if (!isLogical(yes) || !isLogical(no)) return undefined;
  const otherwise = () => builder.make("not", condition);
  if (isTruth(yes, 1)) return builder.make("or", condition, no);
  if (isTruth(no, 0)) return builder.make("and", condition, yes);
  if (isTruth(yes, 0)) return builder.make("and", otherwise(), no);
  return isTruth(no, 1) ? builder.make("or", otherwise(), yes) : undefined;
}
