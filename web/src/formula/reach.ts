import type { FormulaData, Variable } from "./graph.js";

/** The smallest and the largest value. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

/** The values that the variables of a call have; `s` can have any. */
export type Ranges = Readonly<Record<Exclude<Variable, "s">, Range>>;

/** Values that are really reached, and the variable on which they depend. */
interface Reach extends Range {
  readonly variable: Variable | undefined;
}

/**
 * The range of a node that depends on at most one variable, of which it is a rising or falling function. undefined for
 * all other nodes.
 */
export function reachOf(
  formula: Pick<FormulaData, "graph" | "values">,
  index: number,
  ranges: Ranges,
): Range | undefined {
  const { graph, values } = formula;
  const found = new Map<number, Reach | undefined>();
  const reach = (node: number): Reach | undefined => {
    if (!found.has(node)) found.set(node, reached(node));
    return found.get(node);
  };
  const reached = (node: number): Reach | undefined => {
    const { op, of, value, variable, slot } = graph.nodes[node]!;
    const point = (at: number): Reach => ({ low: at, high: at, variable: undefined });
    if (op === "number") return point(value!);
    if (op === "parameter") return point(values[slot!] as number);
    if (op === "variable") return variable === "s" ? undefined : { ...ranges[variable!], variable };
    const combine = COMBINED[op as keyof typeof COMBINED] as Combined | undefined;
    if (!combine) return undefined;
    const [a, b = point(0)] = of.map(reach);
    if (!a || !b || (a.variable && b.variable)) return undefined;
    const ends = [a.low, a.high].flatMap((x) => [b.low, b.high].map((y) => Math.fround(combine(x, y))));
    return { low: Math.min(...ends), high: Math.max(...ends), variable: a.variable ?? b.variable };
  };
  return reach(index);
}

type Combined = (a: number, b: number) => number;

/** Functions that rise or fall in each of their operands, while the other one is a number. */
const COMBINED = {
  negate: (a) => -a,
  floor: (a) => Math.floor(a),
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  minimum: (a, b) => Math.min(a, b),
  maximum: (a, b) => Math.max(a, b),
} satisfies Record<string, Combined>;
