import { OPERATIONS, VARIABLES, type Bound, type FormulaData, type Graph, type Node } from "../formula/graph.js";
import { splitVisible } from "../formula/splitVisible.js";
import type { Room } from "./heap.js";
import type { AttentionCall } from "./module.js";

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

/** Places the arrays of a formula, and writes their addresses into the call. */
export function writeFormula(
  call: AttentionCall,
  arena: Room,
  option: "score" | "visible",
  { graph, values }: FormulaData,
): void {
  const { instructions, result, bounds, constants } = PROGRAMS[option](graph);
  const numbers = Float32Array.from([...constants, ...values.filter((value) => typeof value === "number")]);
  const tables = values.filter((value) => typeof value !== "number");
  const tableWords = tables.flatMap(({ data, extents }) => {
    const [rows, columns] = extents.length === 2 ? extents : [1, ...extents];
    return [arena.copy(data), rows!, columns!];
  });
  call[option === "score" ? "setScore" : "setVisible"](
    arena.copy(instructions),
    instructions.length / 4,
    result,
    arena.copy(numbers),
    numbers.length,
    arena.copy(Int32Array.from(tableWords)),
    tables.length,
    arena.copy(bounds),
    bounds.length / 5,
  );
}
