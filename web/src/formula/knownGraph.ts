import type { FormulaData, Graph } from "./graph.js";

/** How many graphs are kept. Programs may make formulas without end. */
const MOST = 256;

const graphs = new Map<string, Graph>();

/**
 * A graph of the same content that is always the same object, also for copies that came by `postMessage`. So engines can
 * keep what they have compiled for it.
 */
export function knownGraph(graph: Graph): Graph {
  const key = keyOf(graph);
  const known = graphs.get(key) ?? frozen(graph);
  graphs.delete(key); // and to the end: the first one has not been used for the longest time
  graphs.set(key, known);
  if (graphs.size > MOST) graphs.delete(graphs.keys().next().value!);
  return known;
}

/** The same formula with `knownGraph`. */
export function knownFormula<F extends FormulaData | undefined>(formula: F): F {
  return formula && { ...formula, graph: knownGraph(formula.graph) };
}

/** Makes a graph that nobody can change. */
export function frozen({ nodes, result, parameters }: Graph): Graph {
  for (const node of nodes) Object.freeze(Object.freeze(node).of);
  for (const parameter of parameters) Object.freeze(parameter);
  return Object.freeze({ nodes: Object.freeze(nodes), result, parameters: Object.freeze(parameters) });
}

/** Names are quoted: one may hold any text. */
function keyOf({ nodes, result, parameters }: Graph): string {
  return JSON.stringify([
    nodes.map(({ op, of, value, variable, slot }) => [op, of, numberKey(value), variable, slot]),
    result,
    parameters.map(({ name, rank, integer }) => [name, rank, integer]),
  ]);
}

/** JSON knows neither -0 nor numbers that are not finite. */
function numberKey(value: number | undefined): string | undefined {
  return Object.is(value, -0) ? "-0" : value?.toString();
}
