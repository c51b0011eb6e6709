import type { ScoreDerivatives } from "../formula/derivatives.js";
import {
  OPERATIONS,
  VARIABLES,
  type Bound,
  type FormulaData,
  type Graph,
  type Node,
  type Table,
} from "../formula/graph.js";
import { splitVisible } from "../formula/splitVisible.js";
import type { Room } from "./heap.js";
import type { AttentionCall, GradientProperties, SetFormula } from "./module.js";

/** A graph as C++ reads it (headwise/formula.h). It does not depend on the values of parameters. */
interface Program {
  /** [operation, a, b, c] of each instruction. */
  readonly instructions: Int32Array;
  /** The number of the instruction that is the result, or −1. */
  readonly result: number;
  /** [onRows, coefficient, integer, limit, strict] of each bound. */
  readonly bounds: Int32Array;
  /** The first of `numbers`. The values of number parameters follow. */
  readonly constants: readonly number[];
}

/** Numbers of the enumerators of C++. */
const OPERATION = new Map(OPERATIONS.map((name, n) => [name, n]));
const VARIABLE = new Map(VARIABLES.map((name, n) => [name, n]));

const NOTHING = -1;

function programOf(
  { parameters }: Graph,
  nodes: readonly Node[],
  result: number | undefined,
  bounds: readonly Bound[] = [],
): Program {
  const constants = nodes.flatMap(({ op, value }) => (op === "number" ? [value!] : []));
  /** The place of a parameter among the numbers, or of a table among the tables. */
  const placeOf = (slot: number) => {
    const isTable = parameters[slot]!.rank > 0;
    const before = parameters.slice(0, slot).filter(({ rank }) => rank > 0 === isTable).length;
    return isTable ? before : constants.length + before;
  };
  let numbers = 0;
  const operandsOf = ({ op, of, variable, slot }: Node): readonly number[] => {
    if (op === "number") return [numbers++];
    if (op === "variable") return [VARIABLE.get(variable!)!];
    return slot === undefined ? of : [placeOf(slot), ...of];
  };
  const instruction = (node: Node) => {
    const [a = 0, b = 0, c = 0] = operandsOf(node);
    return [OPERATION.get(node.op)!, a, b, c];
  };
  const boundWords = ({ axis, coefficient, integer = NOTHING, limit = NOTHING, strict }: Bound) => [
    Number(axis === "j"),
    coefficient,
    integer,
    limit,
    Number(strict),
  ];
  return {
    instructions: Int32Array.from(nodes.flatMap(instruction)),
    result: result ?? NOTHING,
    bounds: Int32Array.from(bounds.flatMap(boundWords)),
    constants,
  };
}

function scoreProgram(graph: Graph): Program {
  return programOf(graph, graph.nodes, graph.result);
}

function visibleProgram(graph: Graph): Program {
  const { nodes, rest, bounds } = splitVisible(graph);
  return programOf(graph, nodes, rest, bounds);
}

/** Keeps the programs of formulas. Formulas made by `with` share their graph. */
function kept(make: (graph: Graph) => Program): (graph: Graph) => Program {
  const programs = new WeakMap<Graph, Program>();
  return (graph) => {
    const program = programs.get(graph) ?? make(graph);
    programs.set(graph, program);
    return program;
  };
}

const PROGRAMS = { score: kept(scoreProgram), visible: kept(visibleProgram) } as const;

/** The values of a formula's parameters, in the engine's memory. */
interface PlacedValues {
  readonly numbers: readonly number[];
  readonly tables: number;
  readonly numTables: number;
}

function placeValues(arena: Room, { values }: FormulaData): PlacedValues {
  const tables = values.filter((value) => typeof value !== "number");
  const words = tables.flatMap((table) => [arena.copy(table.data), ...rowsAndColumns(table)]);
  return {
    numbers: values.filter((value) => typeof value === "number"),
    tables: arena.copy(Int32Array.from(words)),
    numTables: tables.length,
  };
}

/** A table of rank 1 is one row, and a number one row of one number. */
function rowsAndColumns(value: number | Table): readonly [rows: number, columns: number] {
  const [first = 1, second] = typeof value === "number" ? [] : value.extents;
  return second === undefined ? [1, first] : [first, second];
}

type ProgramArguments = Parameters<SetFormula> extends [...infer First, number, number] ? First : never;

/** Places a program, for the functions of calls that take one. */
function placeProgram(
  arena: Room,
  { instructions, result, constants }: Program,
  { numbers, tables, numTables }: PlacedValues,
): ProgramArguments {
  const all = Float32Array.from([...constants, ...numbers]);
  return [arena.copy(instructions), instructions.length / 4, result, arena.copy(all), all.length, tables, numTables];
}

/** Places the arrays of a formula, and writes their addresses into the call. */
export function writeFormula(
  call: AttentionCall,
  arena: Room,
  option: "score" | "visible",
  formula: FormulaData,
): void {
  const program = PROGRAMS[option](formula.graph);
  const { bounds } = program;
  const placed = placeProgram(arena, program, placeValues(arena, formula));
  call[option === "score" ? "setScore" : "setVisible"](...placed, arena.copy(bounds), bounds.length / 5);
}

const derivativePrograms = new WeakMap<ScoreDerivatives, Program>();

function derivativeProgram(graph: Graph, derivatives: ScoreDerivatives): Program {
  const program = derivativePrograms.get(derivatives) ?? programOf(graph, derivatives.nodes, derivatives.byScore);
  derivativePrograms.set(derivatives, program);
  return program;
}

/**
 * Places how the score formula is differentiated, and writes the addresses into the call.
 *
 * @param gradients - The address of each parameter's gradient, or undefined if they are not wanted.
 */
export function writeDerivative(
  call: GradientProperties,
  arena: Room,
  formula: FormulaData,
  derivatives: ScoreDerivatives,
  gradients: readonly number[] | undefined,
): void {
  const program = derivativeProgram(formula.graph, derivatives);
  const reads = gradients ? derivatives.reads : [];
  const words = reads.flatMap(({ slot, derivative, row = NOTHING, column = NOTHING }) => [
    derivative,
    row,
    column,
    ...rowsAndColumns(formula.values[slot]!),
    gradients![slot]!,
  ]);
  const placed = placeProgram(arena, program, placeValues(arena, formula));
  call.setDerivative(...placed, arena.copy(Int32Array.from(words)), reads.length);
  call.dReads = Number(gradients !== undefined);
}
