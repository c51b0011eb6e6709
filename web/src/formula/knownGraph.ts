import type { FormulaData, Graph, Node } from "./graph.js";

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

function keyOf({ nodes, result, parameters }: Graph): string {
  const names = parameters.map(({ name, rank, integer }) => [name, rank, integer].join());
  return [...nodes.map(nodeKey), result, ...names].join(";");
}

function nodeKey({ op, of, value, variable, slot }: Node): string {
  return [op, Object.is(value, -0) ? "-0" : (value ?? variable ?? slot), ...of].join();
}
