/**
 * The expression graph of a formula: plain data that both engines read. headwise/formula makes it from a text.
 *
 * Numbers are float32. Booleans are the numbers 1 and 0 for the engines; `isBoolean` says which nodes are booleans.
 */

/**
 * What a formula can read. `s`: the score after scale, softcap, ALiBi and bias. `q`, `k`: positions of query and key, as
 * causal and window count them; in a ring, as the tokens were appended. `i`, `j`: their rows, counted from 0. `h`: query
 * head. `g`: key head. `b`: batch, or the sequence of a ragged batch. `Sq`, `Skv`: rows of queries and of keys (ragged:
 * of the sequence; cache: tokens held). `D`: headDim.
 */
export const VARIABLES = ["s", "q", "k", "i", "j", "h", "g", "b", "Sq", "Skv", "D"] as const;
export type Variable = (typeof VARIABLES)[number];

/** Operations, in the order of cpp/include/headwise/formula_operations.def. */
export const OPERATIONS = [
  "number", // value
  "variable", // variable
  "parameter", // slot: a number that `with` can replace
  "table1", // slot, of [index]: reads 0 outside; an index is rounded down
  "table2", // slot, of [row, column]
  "negate",
  "abs",
  "floor",
  "sign",
  "sqrt",
  "exp",
  "log",
  "tanh",
  "sin",
  "cos",
  "not", // of [boolean]
  "add",
  "subtract",
  "multiply",
  "divide",
  "remainder", // the sign of the dividend, as % in JavaScript
  "power",
  "minimum", // NaN if an operand is NaN
  "maximum",
  "less", // comparisons with NaN are false
  "lessOrEqual",
  "equal",
  "notEqual", // with NaN: true
  "and", // of [boolean, boolean]
  "or",
  "select", // of [boolean, ifTrue, ifFalse]
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** A node. `of` holds the indices of its operands, which lie before it. */
export interface Node {
  readonly op: Operation;
  readonly of: readonly number[];
  /** Of a number: finite, or ±Infinity. */
  readonly value?: number | undefined;
  readonly variable?: Variable | undefined;
  /** Of a parameter or a table: its place in `parameters`. */
  readonly slot?: number | undefined;
}

/** A parameter by name. Rank 0: a number; 1 and 2: a table. All elements of an integer parameter are whole. */
export interface Parameter {
  readonly name: string;
  readonly rank: 0 | 1 | 2;
  readonly integer: boolean;
}

/** Operands lie before the nodes that use them; no node is there twice; all nodes are used. */
export interface Graph {
  readonly nodes: readonly Node[];
  /** The node that is the formula's value. */
  readonly result: number;
  readonly parameters: readonly Parameter[];
}

/** The value of a table parameter. Extents are [length] or [rows, columns]; rows are contiguous. */
export interface Table {
  readonly data: Float32Array;
  readonly extents: readonly number[];
}

/** A formula as a call receives it. `values` has a number or a table for each of `graph.parameters`. */
export interface FormulaData {
  readonly text: string;
  readonly graph: Graph;
  readonly values: readonly (number | Table)[];
}

const BOOLEANS: ReadonlySet<Operation> = new Set(["not", "less", "lessOrEqual", "equal", "notEqual", "and", "or"]);

/**
 * Whether a node's value is a boolean. A select is one if both of its branches are.
 *
 * @param known - The same for the nodes before it.
 */
export function isBooleanNode({ op, of }: Node, known: readonly boolean[]): boolean {
  return op === "select" ? known[of[1]!]! && known[of[2]!]! : BOOLEANS.has(op);
}

/** Of each node, whether its value is a boolean. */
export function booleansOf(nodes: readonly Node[]): boolean[] {
  const booleans: boolean[] = [];
  for (const node of nodes) booleans.push(isBooleanNode(node, booleans));
  return booleans;
}

const known = new WeakMap<readonly Node[], readonly boolean[]>();

/** Whether the value of a node of a graph is a boolean. */
export function isBoolean(nodes: readonly Node[], index: number): boolean {
  const booleans = known.get(nodes) ?? booleansOf(nodes);
  known.set(nodes, booleans);
  return booleans[index]!;
}

/**
 * A condition of `visible` that is a limit of a row's keys:
 *
 *     coefficient · x + integer ≤ limit, or < limit if `strict`,
 *
 * where x is `k` or `j`, `coefficient` a whole number other than 0, and `integer` and `limit` are nodes that depend on
 * neither s, k nor j. `integer` is always whole; undefined is 0. Engines turn it into a first or last key without
 * rounding: limit is rounded to a whole number first. A NaN limit hides all keys.
 */
export interface Bound {
  readonly axis: "k" | "j";
  readonly coefficient: number;
  readonly integer: number | undefined;
  readonly limit: number | undefined;
  readonly strict: boolean;
}

/** `visible` as engines compute it: a key is visible if all bounds and `rest` (if there is one) allow it. */
export interface SplitVisible {
  readonly nodes: readonly Node[];
  readonly bounds: readonly Bound[];
  readonly rest: number | undefined;
}
