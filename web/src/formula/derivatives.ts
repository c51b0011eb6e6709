import { UnsupportedError } from "../base/errors.js";
import type { FormulaData, Graph, Node } from "./graph.js";
import { GraphBuilder } from "./graphBuilder.js";
import { MAX_DERIVATIVE_NODES } from "./limits.js";

/**
 * A place where a score formula reads a parameter. `derivative`: the node that is ∂score/∂(what is read). `row`,
 * `column`: the nodes of the indices; undefined where a parameter has no such axis. A table of rank 1 has only `column`.
 */
export interface FormulaRead {
  readonly slot: number;
  readonly derivative: number;
  readonly row: number | undefined;
  readonly column: number | undefined;
}

/** The derivatives of a score formula: a graph with several results, over the same parameters as the formula. */
export interface ScoreDerivatives {
  /** Operands lie before the nodes that use them. */
  readonly nodes: readonly Node[];
  /** ∂score/∂s */
  readonly byScore: number;
  readonly reads: readonly FormulaRead[];
}

const known = new WeakMap<Graph, ScoreDerivatives>();

/** Differentiates a score formula by the score and by everything that it reads of its parameters. */
export function scoreDerivatives(graph: Graph): ScoreDerivatives {
  const derivatives = known.get(graph) ?? differentiated(graph);
  known.set(graph, derivatives);
  return derivatives;
}

/**
 * The derivatives of the option score of a call.
 *
 * @throws UnsupportedError if they need more operations than engines compute.
 */
export function readDerivatives(operation: string, score: FormulaData): ScoreDerivatives {
  const derivatives = scoreDerivatives(score.graph);
  const { length } = derivatives.nodes;
  if (length > MAX_DERIVATIVE_NODES)
    throw new UnsupportedError(
      `${operation}: the derivatives of score must have at most ${MAX_DERIVATIVE_NODES} operations, got ${length}: ` +
        score.text,
      { hint: "A shorter formula, or one that reads fewer parameters, has shorter derivatives." },
    );
  return derivatives;
}

function differentiated(graph: Graph): ScoreDerivatives {
  const builder = new GraphBuilder(graph.parameters);
  const copies = builder.copy(graph);
  const result = copies[graph.result]!;
  const derivativeBy = (source: number | undefined) =>
    (source === undefined ? undefined : new Differential(builder, source).of(result)) ?? builder.number(0);
  const find = (test: (node: Node) => boolean) => copies.filter((copy) => test(builder.node(copy)));
  const [score] = find(({ variable }) => variable === "s");
  const places = find(({ slot }) => slot !== undefined);

  const byScore = derivativeBy(score);
  const reads = places.map((place) => {
    const { slot, of } = builder.node(place);
    const [row, column] = of.length === 2 ? of : [undefined, of[0]];
    return { slot: slot!, derivative: derivativeBy(place), row, column };
  });
  const needed = [byScore, ...reads.flatMap(({ derivative, row, column }) => [derivative, row, column])];
  const { nodes, placeOf } = pruned(builder, needed);
  return {
    nodes,
    byScore: placeOf(byScore)!,
    reads: reads.map(({ slot, derivative, row, column }) => ({
      slot,
      derivative: placeOf(derivative)!,
      row: placeOf(row),
      column: placeOf(column),
    })),
  };
}

interface Pruned {
  readonly nodes: readonly Node[];
  readonly placeOf: (node: number | undefined) => number | undefined;
}

function pruned(builder: GraphBuilder, needed: readonly (number | undefined)[]): Pruned {
  const before = needed.filter((node) => node !== undefined);
  const { nodes, roots } = builder.pruned(before);
  const places = new Map(before.map((node, n) => [node, roots[n]!]));
  return { nodes, placeOf: (node) => (node === undefined ? undefined : places.get(node)) };
}

/**
 * The derivatives of nodes by one of them, the source. undefined is 0: the node does not depend on the source.
 *
 * It goes forward, from operands to results. So where a select does not take a branch, the branch's derivative has no
 * effect, even if it is NaN.
 */
class Differential {
  readonly #builder: GraphBuilder;
  readonly #known = new Map<number, number | undefined>();

  constructor(builder: GraphBuilder, source: number) {
    this.#builder = builder;
    this.#known.set(source, builder.number(1));
  }

  of(node: number): number | undefined {
    if (!this.#known.has(node)) this.#known.set(node, this.#derivative(node));
    return this.#known.get(node);
  }

  #derivative(y: number): number | undefined {
    const { op, of } = this.#builder.node(y);
    const [a = 0, b = 0, c = 0] = of;
    switch (op) {
      case "number":
      case "variable":
      case "parameter":
      case "table1": // an index is rounded down: its derivative is 0
      case "table2":
      case "floor":
      case "sign":
      case "not":
      case "less":
      case "lessOrEqual":
      case "equal":
      case "notEqual":
      case "and":
      case "or":
        return undefined;
      case "negate":
        return this.#times(a, () => this.#number(-1));
      case "abs":
        return this.#times(a, () => this.#make("sign", a)); // 0 at 0
      case "sqrt":
        return this.#timesSteep(a, () => this.#make("divide", this.#number(0.5), y));
      case "exp":
        return this.#timesSteep(a, () => y);
      case "log":
        return this.#over(this.of(a), a);
      case "tanh":
        return this.#timesSteep(a, () => this.#make("subtract", this.#number(1), this.#make("multiply", y, y)));
      case "sin":
        return this.#times(a, () => this.#make("cos", a));
      case "cos":
        return this.#times(a, () => this.#make("negate", this.#make("sin", a)));
      case "add":
        return this.#sum(this.of(a), this.of(b));
      case "subtract":
        return this.#sum(
          this.of(a),
          this.#times(b, () => this.#number(-1)),
        );
      case "multiply":
        return this.#sum(
          this.#times(a, () => b),
          this.#times(b, () => a),
        );
      case "divide":
        return this.#over(
          this.#sum(
            this.of(a),
            this.#timesSteep(b, () => this.#make("negate", y)),
          ),
          b,
        );
      case "remainder":
        // a % b = a − n · b, where n = (a − a % b) / b is whole
        return this.#sum(
          this.of(a),
          this.#timesSteep(b, () => this.#make("divide", this.#make("subtract", y, a), b)),
        );
      case "power":
        return this.#sum(
          this.#timesSteep(a, () => this.#powerByBase(a, b)),
          this.#times(b, () => this.#powerByExponent(y, a)),
        );
      case "minimum":
        return this.#nearer(() => this.#make("less", a, b), a, b);
      case "maximum":
        return this.#nearer(() => this.#make("less", b, a), a, b);
      case "select":
        return this.#chosen(() => a, b, c);
    }
  }

  /** b · a^(b − 1); 0 if b is 0 */
  #powerByBase(a: number, b: number): number {
    const lower = this.#make("power", a, this.#make("subtract", b, this.#number(1)));
    return this.#zeroIf(this.#isZero(b), this.#make("multiply", b, lower));
  }

  /** y · log(a), where y = a^b; 0 if a is 0 */
  #powerByExponent(y: number, a: number): number {
    return this.#zeroIf(this.#isZero(a), this.#make("multiply", y, this.#make("log", a)));
  }

  /** The chain rule: the derivative of an operand, times the slope at it. */
  #times(operand: number, slope: () => number): number | undefined {
    const derivative = this.of(operand);
    return derivative === undefined ? undefined : this.#make("multiply", slope(), derivative);
  }

  /**
   * The same where one factor may be 0 and the other one infinite, although the value is finite. There 0·∞ would be NaN,
   * but what does not change changes nothing: the derivative of sqrt(max(s, 0)) is 0 below 0. Nor does what has no effect:
   * that of 1 / (1 + exp(-s)) is 0 where exp overflows.
   */
  #timesSteep(operand: number, slope: () => number): number | undefined {
    const derivative = this.of(operand);
    if (derivative === undefined) return undefined;
    const factor = slope();
    const product = this.#make("multiply", factor, derivative);
    if (this.#builder.valueOf(derivative)) return product; // a constant is not infinite
    return this.#zeroIf(this.#make("or", this.#isZero(factor), this.#isZero(derivative)), product);
  }

  /** The quotient of a derivative; 0 if that is 0, also where the divisor is 0. */
  #over(dividend: number | undefined, divisor: number): number | undefined {
    if (dividend === undefined) return undefined;
    return this.#zeroIf(this.#isZero(dividend), this.#make("divide", dividend, divisor));
  }

  #isZero(node: number): number {
    return this.#make("equal", node, this.#number(0));
  }

  #zeroIf(condition: number, otherwise: number): number {
    return this.#make("select", condition, this.#number(0), otherwise);
  }

  #sum(a: number | undefined, b: number | undefined): number | undefined {
    return a === undefined || b === undefined ? (a ?? b) : this.#make("add", a, b);
  }

  #chosen(condition: () => number, a: number, b: number): number | undefined {
    const [yes, no] = [this.of(a), this.of(b)];
    if (yes === undefined && no === undefined) return undefined;
    return this.#make("select", condition(), yes ?? this.#number(0), no ?? this.#number(0));
  }

  /**
   * The derivative of the operand that a minimum or maximum takes; of two equal ones the mean. So the order in which the
   * graph holds them does not count.
   */
  #nearer(takesFirst: () => number, a: number, b: number): number | undefined {
    const [first, second] = [this.of(a), this.of(b)];
    const sum = this.#sum(first, second);
    if (sum === undefined) return undefined;
    const [one, two] = [first ?? this.#number(0), second ?? this.#number(0)];
    const mean = this.#make("multiply", this.#number(0.5), sum);
    const other = this.#make("select", this.#make("equal", a, b), mean, two);
    return this.#make("select", takesFirst(), one, other);
  }

  #number(value: number): number {
    return this.#builder.number(value);
  }

  #make(...operation: Parameters<GraphBuilder["make"]>): number {
    return this.#builder.make(...operation);
  }
}
