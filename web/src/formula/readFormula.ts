import { describe, isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import type { OptionReader } from "../read/options.js";
import {
  isBooleanNode,
  OPERATIONS,
  VARIABLES,
  type FormulaData,
  type Graph,
  type Node,
  type Operation,
  type Parameter,
  type Table,
} from "./graph.js";
import { GraphBuilder } from "./graphBuilder.js";
import { knownGraph } from "./knownGraph.js";
import { MAX_NODES, MAX_PARAMETERS, MAX_TEXT, MAX_WHOLE } from "./limits.js";

/** The graphs of frozen objects that have been checked. */
const checked = new WeakMap<object, Graph>();

/**
 * Reads an option that is a formula. Any plain object of the form of FormulaData is one: a worker or a frame may have
 * sent it. It is checked completely, because engines rely on it.
 *
 * @throws OptionError if it is not a formula.
 */
export function readFormula(options: OptionReader, name: string): FormulaData | undefined {
  const given = options.value(name);
  if (given === undefined) return undefined;
  if (!isObject(given)) throw options.refuse(name, "be a formula", hintFor(given));
  return options.call.guarded(options.name(name), () => {
    const { text, graph, values } = given as Partial<FormulaData>;
    if (typeof text !== "string" || !isObject(graph) || !Array.isArray(values))
      throw options.refuse(name, "be a formula", HINT);
    const refuse = (problem: string) =>
      new OptionError(`${options.at(name)} is not a formula of headwise/formula: ${problem}`, { hint: HINT });
    if (text.length > MAX_TEXT) throw refuse(`its text is longer than ${MAX_TEXT} characters`);
    const known = checkedGraph(graph, refuse);
    const { length } = values;
    if (length !== known.parameters.length) throw refuse(`it has ${length} values, not ${known.parameters.length}`);
    return {
      text,
      graph: known,
      values: known.parameters.map((kind, slot) => readValue(options, name, kind, values[slot], refuse)),
    };
  });
}

const HINT = '`import { formula } from "headwise/formula"` makes one: formula("s - slope[h] * abs(q - k)", { slope }).';

function hintFor(given: unknown): string {
  if (typeof given === "string") return `${HINT} Here: formula(${describe(given)}).`;
  return typeof given === "function"
    ? `${HINT} It is a text, which the engines compile; they do not call functions.`
    : HINT;
}

type Refuse = (problem: string) => OptionError;

function checkedGraph(given: Graph, refuse: Refuse): Graph {
  const seen = checked.get(given);
  if (seen) return seen;
  const known = knownGraph(readGraph(given, refuse));
  if (isFrozen(given)) checked.set(given, known);
  return known;
}

/** Copies a graph, and leaves out what nothing uses. */
function readGraph(given: Graph, refuse: Refuse): Graph {
  const { nodes, result, parameters } = given;
  if (!Array.isArray(parameters) || parameters.length > MAX_PARAMETERS) throw refuse("its parameters are no list");
  const kinds = Array.from(parameters as readonly Parameter[], (kind) => readKind(kind, refuse));
  if (new Set(kinds.map((kind) => kind.name)).size < kinds.length) throw refuse("two parameters have one name");
  if (!Array.isArray(nodes) || nodes.length > MAX_NODES) throw refuse(`it must have at most ${MAX_NODES} operations`);
  const read: Node[] = [];
  const booleans: boolean[] = [];
  for (const node of nodes as readonly Node[]) {
    read.push(readNode(node, read, booleans, kinds, refuse));
    booleans.push(isBooleanNode(read.at(-1)!, booleans));
  }
  if (!isIndex(result, read.length)) throw refuse("its result is no operation");
  const builder = new GraphBuilder(kinds);
  const copies = builder.copy({ nodes: read, result, parameters: kinds });
  return builder.graph(copies[result]!);
}

/** Whether nothing of a graph can change. */
function isFrozen(graph: Graph): boolean {
  const { nodes, parameters } = graph;
  return [graph, nodes, parameters, ...nodes, ...nodes.map(({ of }) => of), ...parameters].every(Object.isFrozen);
}

function isIndex(value: unknown, length: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < length;
}

function readKind(given: Parameter, refuse: Refuse): Parameter {
  const { name, rank, integer } = given;
  if (typeof name !== "string" || ![0, 1, 2].includes(rank) || typeof integer !== "boolean")
    throw refuse("a parameter has no name or no rank");
  return { name, rank, integer };
}

/** How many operands an operation has. */
export function arityOf(op: Operation): number {
  const place = OPERATIONS.indexOf(op);
  if (place < OPERATIONS.indexOf("table1")) return 0;
  if (op === "select") return 3;
  return op === "table2" || place >= OPERATIONS.indexOf("add") ? 2 : 1;
}

/** The operands that must be booleans: of `select` only the first. */
const CONDITIONS: Readonly<Partial<Record<Operation, number>>> = { not: 1, and: 2, or: 2, select: 1 };

function readNode(
  given: Node,
  before: readonly Node[],
  booleans: readonly boolean[],
  parameters: readonly Parameter[],
  refuse: Refuse,
): Node {
  const { op, of, value, variable, slot } = given;
  if (!OPERATIONS.includes(op)) throw refuse(`it has no operation ${describe(op)}`);
  if (!Array.isArray(of) || of.length !== arityOf(op)) throw refuse(`${op} must have ${arityOf(op)} operands`);
  const operands = Array.from(of as readonly number[]);
  if (!operands.every((operand) => isIndex(operand, before.length)))
    throw refuse(`an operand of ${op} is no operation before it`);
  if (operands.slice(0, CONDITIONS[op] ?? 0).some((operand) => !booleans[operand]))
    throw refuse(`an operand of ${op} must be a comparison`);
  if (op === "number") {
    if (typeof value !== "number" || !Object.is(Math.fround(value), value) || Number.isNaN(value))
      throw refuse(`${describe(value)} is no number of float32`);
    return { op, of: operands, value };
  }
  if (op === "variable") {
    if (!VARIABLES.includes(variable!)) throw refuse(`it has no variable ${describe(variable)}`);
    return { op, of: operands, variable: variable! };
  }
  if (op !== "parameter" && op !== "table1" && op !== "table2") return { op, of: operands };
  if (!isIndex(slot, parameters.length) || parameters[slot]!.rank !== operands.length)
    throw refuse(`${op} must have the place of a parameter`);
  return { op, of: operands, slot };
}

function readValue(
  options: OptionReader,
  option: string,
  { name, rank, integer }: Parameter,
  given: unknown,
  refuse: Refuse,
): number | Table {
  if (rank === 0) {
    if (typeof given !== "number") throw refuse(`the value of ${name} is no number`);
    const value = Math.fround(given);
    if (integer && !areWhole([value])) throw refuse(`the value of ${name} is not whole`);
    return value;
  }
  if (!isObject(given)) throw refuse(`the value of ${name} is no table`);
  const { data, extents } = given as Table;
  const tensor = options.call.tensor(`${options.name(option)}.${name}`, { data, shape: extents }, ["float32"]);
  const { shape } = tensor;
  if (shape.length !== rank || shape.some((extent) => extent < 1 || extent > MAX_WHOLE))
    throw refuse(`the table ${name} has extents ${describe(shape)}`);
  if (integer && !areWhole(tensor.data)) throw refuse(`the table ${name} has numbers that are not whole`);
  return { data: tensor.data, extents: shape };
}

function areWhole(numbers: ArrayLike<number>): boolean {
  for (let n = 0; n < numbers.length; ++n)
    if (!Number.isInteger(numbers[n]) || Math.abs(numbers[n]!) > MAX_WHOLE) return false;
  return true;
}
