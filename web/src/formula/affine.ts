import type { Variable } from "./graph.js";
import type { GraphBuilder } from "./graphBuilder.js";

/** coefficient · variable + rest: a whole number that float32 holds, as each number does from which it is computed. */
export interface Affine {
  readonly coefficient: number;
  /** A node that is whole and does not depend on the variable; undefined is 0. */
  readonly rest: number | undefined;
}

/** Reads nodes as whole multiples of one variable plus something whole. */
export class AffineReader {
  readonly #found = new Map<number, Affine | undefined>();

  /** @param dependsOn - Whether a node depends on the variable, or on anything else that `rest` must not have. */
  constructor(
    readonly builder: GraphBuilder,
    readonly variable: Variable,
    readonly dependsOn: (node: number) => boolean,
  ) {}

  /** undefined if a node is not of this form. */
  read(index: number): Affine | undefined {
    if (!this.#found.has(index)) this.#found.set(index, this.#read(index));
    return this.#found.get(index);
  }

  #read(index: number): Affine | undefined {
    const { builder } = this;
    if (!builder.isExact(index)) return undefined;
    if (!this.dependsOn(index)) return { coefficient: 0, rest: builder.valueOf(index) === 0 ? undefined : index };
    const { op, of, variable } = builder.node(index);
    if (variable === this.variable) return { coefficient: 1, rest: undefined };
    const [a, b] = [of[0], of[1]].map((operand) => (operand === undefined ? undefined : this.read(operand)));
    if (op === "negate" && a) return this.negated(a);
    if (op === "add" && a && b) return this.#sum(a, b);
    if (op === "subtract" && a && b) return this.difference(a, b);
    if (op === "multiply" && a && b)
      return this.#scaled(b, builder.valueOf(of[0]!)) ?? this.#scaled(a, builder.valueOf(of[1]!));
    return undefined;
  }

  negated({ coefficient, rest }: Affine): Affine {
    return { coefficient: -coefficient, rest: rest === undefined ? undefined : this.builder.make("negate", rest) };
  }

  difference(a: Affine, b: Affine): Affine {
    if (a.rest === undefined) return { ...this.negated(b), coefficient: a.coefficient - b.coefficient };
    return {
      coefficient: a.coefficient - b.coefficient,
      rest: b.rest === undefined ? a.rest : this.builder.make("subtract", a.rest, b.rest),
    };
  }

  #sum(a: Affine, b: Affine): Affine {
    const both = a.rest !== undefined && b.rest !== undefined;
    return {
      coefficient: a.coefficient + b.coefficient,
      rest: both ? this.builder.make("add", a.rest, b.rest) : (a.rest ?? b.rest),
    };
  }

  #scaled({ coefficient, rest }: Affine, factor: number | undefined): Affine | undefined {
    if (factor === undefined) return undefined;
    return {
      coefficient: coefficient * factor,
      rest: rest === undefined ? undefined : this.builder.make("multiply", rest, this.builder.number(factor)),
    };
  }
}
