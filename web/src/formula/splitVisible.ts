import { AffineReader, type Affine } from "./affine.js";
import type { Bound, Graph, SplitVisible } from "./graph.js";
import { GraphBuilder } from "./graphBuilder.js";
import { MAX_NODES, MAX_WHOLE } from "./limits.js";

const known = new WeakMap<Graph, SplitVisible>();

/**
 * Divides the formula of `visible` into limits of each row's keys and the rest. A part of a top-level `&&` is a limit if
 * it compares a multiple of `k` or `j` with something that does not depend on the key.
 */
export function splitVisible(graph: Graph): SplitVisible {
  const split = known.get(graph) ?? splitOf(graph);
  known.set(graph, split);
  return split;
}

function splitOf(graph: Graph): SplitVisible {
  const split = new Splitter(graph).split();
  return split.nodes.length <= MAX_NODES ? split : new Splitter(graph).whole();
}

class Splitter {
  readonly #builder: GraphBuilder;
  readonly #result: number;
  readonly #axes: readonly { readonly axis: Bound["axis"]; readonly reader: AffineReader }[];
  /** Of each node that has been asked for: whether it depends on the key. */
  readonly #dependent = new Map<number, boolean>();

  constructor(graph: Graph) {
    this.#builder = new GraphBuilder(graph.parameters);
    this.#result = this.#builder.copy(graph)[graph.result]!;
    const dependsOn = (node: number) => this.#dependsOnKey(node);
    this.#axes = (["k", "j"] as const).map((axis) => ({
      axis,
      reader: new AffineReader(this.#builder, axis, dependsOn),
    }));
  }

  split(): SplitVisible {
    const bounds: Bound[] = [];
    let rest: number | undefined;
    for (const part of this.#conjuncts(this.#builder.truth(this.#result))) {
      const found = this.#boundsOf(part);
      if (found) bounds.push(...found);
      else rest = rest === undefined ? part : this.#builder.make("and", rest, part);
    }
    return this.#pruned(bounds, rest);
  }

  /** All of the formula as the rest. */
  whole(): SplitVisible {
    return this.#pruned([], this.#builder.truth(this.#result));
  }

  /** The conditions that must all hold for a boolean node. */
  #conjuncts(node: number): Set<number> {
    const found = new Set<number>();
    const seen = new Set<number>();
    const visit = (part: number) => {
      if (seen.has(part) || this.#builder.valueOf(part) === 1) return;
      seen.add(part);
      const { op, of } = this.#builder.node(part);
      const parts = op === "and" ? of : (this.#neither(part) ?? this.#guarded(part));
      if (parts) parts.forEach(visit);
      else found.add(part);
    };
    visit(node);
    return found;
  }

  /** The conditions of !(a || b): !a and !b. */
  #neither(node: number): readonly number[] | undefined {
    const { op, of } = this.#builder.node(node);
    const inner = this.#builder.node(of[0] ?? node);
    return op === "not" && inner.op === "or" ? inner.of.map((each) => this.#builder.make("not", each)) : undefined;
  }

  /** The conditions of the truth of `a && b` with a number a, which is select(truth of a, b, a). */
  #guarded(node: number): readonly number[] | undefined {
    const builder = this.#builder;
    const select = this.#truthOf(node);
    if (select === undefined || builder.node(select).op !== "select") return undefined;
    const [condition, yes, no] = builder.node(select).of;
    const isGuard = builder.valueOf(no!) === 0 || (!builder.isBoolean(no!) && builder.truth(no!) === condition);
    return isGuard ? [condition!, builder.truth(yes!)] : undefined;
  }

  /** The number whose truth a node is: x in 0 < abs(x). */
  #truthOf(node: number): number | undefined {
    const { op, of } = this.#builder.node(node);
    if (op !== "less" || this.#builder.valueOf(of[0]!) !== 0) return undefined;
    const right = this.#builder.node(of[1]!);
    return right.op === "abs" ? right.of[0] : undefined;
  }

  /** The limits that a comparison is; undefined if it is none. */
  #boundsOf(node: number): Bound[] | undefined {
    const { op, of } = this.#builder.node(node);
    const [a, b] = of;
    if (op === "equal") {
      const both = [this.#atMost(a!, b!, false), this.#atMost(b!, a!, false)];
      return both.every((bound) => bound !== undefined) ? both : undefined;
    }
    if (op !== "less" && op !== "lessOrEqual") return undefined;
    const strict = op === "less";
    const left = this.#builder.node(a!);
    if (left.op === "abs" && !this.#dependsOnKey(b!)) {
      const minus = this.#builder.make("negate", left.of[0]!);
      const both = [this.#atMost(left.of[0]!, b!, strict), this.#atMost(minus, b!, strict)];
      return both.every((bound) => bound !== undefined) ? both : undefined;
    }
    const bound = this.#atMost(a!, b!, strict);
    return bound && [bound];
  }

  /** a ≤ b as a limit of k or j. */
  #atMost(a: number, b: number, strict: boolean): Bound | undefined {
    for (const { axis, reader } of this.#axes) {
      const found = this.#limited(reader, a, b);
      if (!found || found.coefficient === 0 || Math.abs(found.coefficient) > MAX_WHOLE) continue;
      const { coefficient, rest, limit } = found;
      return { axis, coefficient, integer: rest, limit, strict };
    }
    return undefined;
  }

  /** The affine side of a ≤ b, and its limit; undefined is 0. */
  #limited(reader: AffineReader, a: number, b: number): (Affine & { readonly limit: number | undefined }) | undefined {
    const [left, right] = [reader.read(a), reader.read(b)];
    if (left && !this.#dependsOnKey(b)) return { ...left, limit: this.#builder.valueOf(b) === 0 ? undefined : b };
    if (right && !this.#dependsOnKey(a)) return { ...reader.negated(right), limit: this.#builder.make("negate", a) };
    const both = left && right && reader.difference(left, right);
    const isExact = both && (both.rest === undefined || this.#builder.isExact(both.rest));
    return isExact ? { ...both, limit: undefined } : undefined;
  }

  #dependsOnKey(node: number): boolean {
    const known = this.#dependent.get(node);
    if (known !== undefined) return known;
    const { of, variable } = this.#builder.node(node);
    const depends = ["s", "k", "j"].includes(variable ?? "") || of.some((operand) => this.#dependsOnKey(operand));
    this.#dependent.set(node, depends);
    return depends;
  }

  /** Leaves out the nodes that nothing needs. */
  #pruned(bounds: readonly Bound[], rest: number | undefined): SplitVisible {
    const needed = [...bounds.flatMap(({ integer, limit }) => [integer, limit]), rest];
    const roots = needed.filter((node) => node !== undefined);
    const pruned = this.#builder.pruned(roots);
    const places = new Map(roots.map((root, n) => [root, pruned.roots[n]!]));
    const placeOf = (node: number | undefined) => (node === undefined ? undefined : places.get(node)!);
    return {
      nodes: pruned.nodes,
      bounds: bounds.map((bound) => ({ ...bound, integer: placeOf(bound.integer), limit: placeOf(bound.limit) })),
      rest: placeOf(rest),
    };
  }
}
