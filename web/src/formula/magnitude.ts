import type { Node, Parameter } from "./graph.js";
import { MAX_EXACT_POSITION } from "./limits.js";

/** Larger products are not followed. */
const LARGEST = 2 ** 48;

/**
 * The largest absolute value of a node that is always a whole number. Infinity if it may be another number, NaN, or
 * larger than 2⁴⁸. Variables and whole tables count as 2²².
 *
 * @param known - The magnitudes of the nodes before it.
 */
export function magnitudeOf(node: Node, parameters: readonly Parameter[], known: readonly number[]): number {
  const largest = bound(
    node,
    parameters,
    node.of.map((operand) => known[operand]!),
  );
  return largest <= LARGEST ? largest : Infinity;
}

function bound({ op, value, variable, slot }: Node, parameters: readonly Parameter[], of: readonly number[]): number {
  const [a = 0, b = 0, c = 0] = of;
  switch (op) {
    case "number":
      return Number.isInteger(value) ? Math.abs(value!) : Infinity;
    case "variable":
      return variable === "s" ? Infinity : MAX_EXACT_POSITION;
    case "parameter":
    case "table1":
    case "table2":
      return parameters[slot!]!.integer ? MAX_EXACT_POSITION : Infinity;
    case "negate":
    case "abs":
    case "floor":
      return a;
    case "add":
    case "subtract":
      return a + b;
    case "multiply":
      return a === Infinity || b === Infinity ? Infinity : a * b;
    case "minimum":
    case "maximum":
      return Math.max(a, b);
    case "select":
      return Math.max(b, c);
    case "sign":
      return a === Infinity ? Infinity : 1;
    case "not":
    case "less":
    case "lessOrEqual":
    case "equal":
    case "notEqual":
    case "and":
    case "or":
      return 1;
    case "sqrt":
    case "exp":
    case "log":
    case "tanh":
    case "sin":
    case "cos":
    case "divide":
    case "remainder":
    case "power":
      return Infinity;
  }
}
