import type { Graph, Operation } from "./graph.js";

/** Operators, and how tightly they bind. */
const OPERATORS: Readonly<Partial<Record<Operation, readonly [sign: string, strength: number]>>> = {
  or: ["||", 2],
  and: ["&&", 3],
  equal: ["==", 4],
  notEqual: ["!=", 4],
  less: ["<", 5],
  lessOrEqual: ["<=", 5],
  add: ["+", 6],
  subtract: ["-", 6],
  multiply: ["*", 7],
  divide: ["/", 7],
  remainder: ["%", 7],
};

const NAMES: Readonly<Partial<Record<Operation, string>>> = { power: "pow", minimum: "min", maximum: "max" };

/** How many operations are written out. A graph may use a node often, so its text may have any length. */
const MOST = 100;

/** A node as the text of a formula, with as many parentheses as it needs. */
export function expressionOf({ nodes, parameters }: Omit<Graph, "result">, index: number): string {
  let count = 0;
  const written = (node: number, strength: number): string => {
    if (++count > MOST) return "…";
    const { op, of, value, variable, slot } = nodes[node]!;
    const part = (place: number, least = 0) => written(of[place]!, least);
    const within = (own: number, text: string) => (own < strength ? `(${text})` : text);
    const operator = OPERATORS[op];
    if (operator) {
      const [sign, own] = operator;
      return within(own, `${part(0, own)} ${sign} ${part(1, own + 1)}`);
    }
    switch (op) {
      case "number":
        return value! < 0 || Object.is(value, -0) ? within(8, `-${-value!}`) : String(value);
      case "variable":
        return variable!;
      case "parameter":
      case "table1":
      case "table2":
        return parameters[slot!]!.name + of.map((_, place) => `[${part(place)}]`).join("");
      case "negate":
        return within(8, `-${part(0, 8)}`);
      case "not":
        return within(8, `!${part(0, 8)}`);
      case "select":
        return within(1, `${part(0, 2)} ? ${part(1, 1)} : ${part(2, 1)}`);
      default:
        return `${NAMES[op] ?? op}(${of.map((_, place) => part(place)).join(", ")})`;
    }
  };
  return written(index, 0);
}
