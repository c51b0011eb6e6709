import { folded } from "./fold.js";
import { isBooleanNode, type Graph, type Node, type Operation, type Parameter, type Variable } from "./graph.js";
import { MAX_WHOLE } from "./limits.js";
import { magnitudeOf } from "./magnitude.js";
import { simplified, type Maker } from "./simplify.js";

/** Operations whose operands may change places. `and` and `or` may not: the first guards the second. */
const COMMUTES: ReadonlySet<Operation> = new Set(["add", "multiply", "minimum", "maximum", "equal", "notEqual"]);

/** Makes the nodes of a graph, each once, and simplifies them. */
export class GraphBuilder implements Maker {
  readonly #nodes: Node[] = [];
  /** Of each node: whether it is a boolean. */
  readonly #booleans: boolean[] = [];
  /** Of each node: see `magnitudeOf`. */
  readonly #magnitudes: number[] = [];
  readonly #known = new Map<string, number>();

  constructor(readonly parameters: readonly Parameter[]) {}

  node(index: number): Node {
    return this.#nodes[index]!;
  }

  isBoolean(index: number): boolean {
    return this.#booleans[index]!;
  }

  /** Whether a node is always a whole number, never NaN or infinite. */
  isWhole(index: number): boolean {
    return this.#magnitudes[index]! < Infinity;
  }

  /** Whether a node is a whole number that float32 holds. */
  isExact(index: number): boolean {
    return this.#magnitudes[index]! <= MAX_WHOLE;
  }

  /** The value of a node of op "number"; undefined for all others. */
  valueOf(index: number): number | undefined {
    return this.node(index).value;
  }

  number(value: number): number {
    return this.#add({ op: "number", of: [], value: Math.fround(value) });
  }

  variable(variable: Variable): number {
    return this.#add({ op: "variable", of: [], variable });
  }

  /** A parameter, or an element of a table. */
  parameter(slot: number, indices: readonly number[] = []): number {
    return this.#add({ op: (["parameter", "table1", "table2"] as const)[indices.length]!, of: indices, slot });
  }

  /** A node, or a simpler one that always has the same value. */
  make(op: Operation, ...given: readonly number[]): number {
    const of = COMMUTES.has(op) ? [...given].sort((a, b) => a - b) : given;
    const values = of.map((operand) => this.valueOf(operand));
    const value = values.every((each) => each !== undefined) ? folded(op, values) : undefined;
    if (value !== undefined) return this.number(value);
    return simplified(this, op, of) ?? this.#add({ op, of });
  }

  /** Whether a value counts as true: it is neither 0 nor NaN. */
  truth(index: number): number {
    const value = this.valueOf(index);
    if (value !== undefined) return this.number(value === 0 ? 0 : 1);
    return this.isBoolean(index) ? index : this.make("less", this.number(0), this.make("abs", index));
  }

  /** The nodes that `roots` need, and the new indices of the roots. */
  pruned(roots: readonly number[]): { readonly nodes: readonly Node[]; readonly roots: readonly number[] } {
    const used = new Set(roots);
    for (let index = this.#nodes.length - 1; index >= 0; --index)
      if (used.has(index)) for (const operand of this.node(index).of) used.add(operand);
    const kept = [...used].sort((a, b) => a - b);
    const places = new Map(kept.map((index, place) => [index, place]));
    const placeOf = (index: number) => places.get(index)!;
    const nodes = kept.map((index) => ({ ...this.node(index), of: this.node(index).of.map(placeOf) }));
    return { nodes, roots: roots.map(placeOf) };
  }

  graph(result: number): Graph {
    const { nodes, roots } = this.pruned([result]);
    return { nodes, result: roots[0]!, parameters: this.parameters };
  }

  /** Copies all nodes of a graph. Returns the new index of each. */
  copy({ nodes }: Graph): number[] {
    const copies: number[] = [];
    for (const node of nodes) copies.push(this.#add({ ...node, of: node.of.map((operand) => copies[operand]!) }));
    return copies;
  }

  #add(node: Node): number {
    const { op, of, value, variable, slot } = node;
    const key = [op, Object.is(value, -0) ? "-0" : (value ?? variable ?? slot), ...of].join();
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const index = this.#nodes.push(node) - 1;
    this.#known.set(key, index);
    this.#booleans.push(isBooleanNode(node, this.#booleans));
    this.#magnitudes.push(magnitudeOf(node, this.parameters, this.#magnitudes));
    return index;
  }
}
