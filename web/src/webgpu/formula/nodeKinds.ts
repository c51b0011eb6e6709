import { isBooleanNode, type Graph, type Node } from "../../formula/graph.js";

/**
 * How the shader holds a node's value. "finite": a float that is certainly neither NaN nor infinite. "word": the bits of
 * a float that may be.
 */
export type Holding = "bool" | "finite" | "word";

export interface NodeKind {
  readonly held: Holding;
  /** The largest size that it can have, if it is finite. */
  readonly most: number;
  readonly whole: boolean;
  /** Whether it depends on the key. */
  readonly byKey: boolean;
}

const LARGEST = 3.4028234663852886e38;
/** Results up to this size are finite in float32. */
const SAFE = 2 ** 126;
/** Positions, rows, lengths and entries of integer tables are at most this. */
const WHOLE = 2 ** 24;
/** Whole numbers up to this size fit i32 of WGSL. */
export const INTEGER = 2 ** 30;

/** What is known of each node without its parameters' values. */
export function kindsOf(nodes: readonly Node[], parameters: Graph["parameters"]): readonly NodeKind[] {
  const kinds: NodeKind[] = [];
  const booleans: boolean[] = [];
  for (const node of nodes) {
    const operands = node.of.map((each) => kinds[each]!);
    const byKey = ["s", "k", "j"].includes(node.variable ?? "") || operands.some((each) => each.byKey);
    booleans.push(isBooleanNode(node, booleans));
    const known = booleans.at(-1) ? BOOL : numberKind(node, operands, nodes, parameters);
    kinds.push({ ...known, byKey });
  }
  return kinds;
}

type NumberKind = Omit<NodeKind, "byKey">;

const BOOL: NumberKind = { held: "bool", most: 1, whole: true };
const anyNumber: NumberKind = { held: "word", most: LARGEST, whole: false };
const finite = (most: number, whole = false): NumberKind => ({ held: "finite", most, whole });

function numberKind(
  node: Node,
  operands: readonly NodeKind[],
  nodes: readonly Node[],
  parameters: Graph["parameters"],
): NumberKind {
  const [a, b, c] = operands;
  const divisor = divisorOf(node, nodes);
  const areFinite = operands.every(({ held }) => held !== "word");
  const areWhole = operands.every(({ whole }) => whole);
  const bounded = (most: number, whole = areWhole) => (areFinite && most <= SAFE ? finite(most, whole) : anyNumber);
  switch (node.op) {
    case "number":
      return isNormal(node.value!) ? finite(Math.abs(node.value!), Number.isInteger(node.value)) : anyNumber;
    case "variable":
      return node.variable === "s" ? anyNumber : finite(WHOLE, true);
    case "parameter":
      return parameters[node.slot!]!.integer ? finite(LARGEST, true) : anyNumber;
    case "table1":
    case "table2":
      return parameters[node.slot!]!.integer ? finite(WHOLE, true) : anyNumber;
    case "negate":
    case "abs":
      return areFinite ? finite(a!.most, areWhole) : anyNumber;
    case "floor":
      return areFinite ? finite(a!.most, true) : anyNumber;
    case "sign":
      return areFinite ? finite(1, true) : anyNumber;
    case "tanh":
    case "sin":
    case "cos":
      return bounded(1, false);
    case "add":
    case "subtract":
      return bounded(a!.most + b!.most);
    case "multiply":
      return bounded(a!.most * b!.most);
    case "divide":
      return divisor ? bounded(a!.most / divisor, false) : anyNumber;
    case "remainder":
      return divisor ? bounded(Math.min(a!.most, divisor)) : anyNumber;
    case "minimum":
    case "maximum":
      return areFinite ? finite(Math.max(a!.most, b!.most), areWhole) : anyNumber;
    case "select":
      return b!.held !== "word" && c!.held !== "word"
        ? finite(Math.max(b!.most, c!.most), b!.whole && c!.whole)
        : anyNumber;
    default:
      return anyNumber;
  }
}

/** The size of a divisor that is a number of a usual size; undefined if it is not. */
export function divisorOf({ op, of }: Node, nodes: readonly Node[]): number | undefined {
  const size = op === "divide" || op === "remainder" ? Math.abs(nodes[of[1]!]!.value ?? 0) : 0;
  return size >= 2 ** -60 && size <= 2 ** 60 ? size : undefined;
}

/** Whether a literal of WGSL is exactly this number. */
function isNormal(value: number): boolean {
  return Number.isFinite(value) && (value === 0 || Math.abs(value) >= 2 ** -126);
}
