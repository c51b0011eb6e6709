import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import type { FormulaData, Graph, Table } from "./graph.js";
import { frozen } from "./knownGraph.js";
import { lowered } from "./lower.js";
import { readParameters, replaced, type ParameterValue, type TableValue } from "./parameters.js";
import { parse } from "./syntax.js";

/** Parameters by name. */
export type Parameters = Readonly<Record<string, ParameterValue>>;

/** New values for parameters: a number stays a number, and a table stays a table. */
export type Replacements<P extends Parameters> = {
  readonly [Name in keyof P]?: P[Name] extends number | boolean ? number | boolean | undefined : TableValue | undefined;
};

/**
 * A formula, for the options `score` and `visible`. It is plain data: `postMessage` and structuredClone copy it, and the
 * copy is accepted as an option too.
 */
export class Formula<P extends Parameters = Parameters> implements FormulaData {
  readonly text: string;
  readonly graph: Graph;
  readonly values: readonly (number | Table)[];

  /** @internal */
  constructor({ text, graph, values }: FormulaData) {
    this.text = text;
    this.graph = graph;
    this.values = Object.freeze([...values]);
    Object.freeze(this);
  }

  /**
   * The same formula with other values of some parameters. Nothing is compiled again. A table keeps its number of axes;
   * its extents may change. A table of whole numbers stays one.
   *
   * @throws OptionError if a name is not a parameter of this formula, or if a value is not allowed.
   * @throws ShapeError if a number would become a table, or if a table would get another number of axes.
   */
  with(parameters: Replacements<P>): Formula<P> {
    return new Formula<P>({
      text: this.text,
      graph: this.graph,
      values: replaced("formula.with", this.graph.parameters, this.values, parameters),
    });
  }
}

/**
 * Makes a formula from a text in the syntax of JavaScript's expressions: `formula("s - slope[h] * abs(q - k)", { slope })`.
 *
 * The text may use numbers, `+ - * / % **`, comparisons, `&& || !`, `? :`, the functions `abs min max floor exp log sqrt
 * tanh sin cos pow sign clamp`, elements of tables `t[a]` and `t[a][b]`, parameters, and the variables
 *
 *     s        the score after scale, softcap, ALiBi and bias
 *     q, k     positions of query and key, as causal and window count them
 *     i, j     their rows, counted from 0
 *     h, g, b  query head, key head, batch (or the sequence of a ragged batch)
 *     Sq, Skv  how many query rows and key rows there are
 *     D        headDim
 *
 * All numbers are float32. Indices are rounded down, and outside of a table the element is 0. The parameters are copied.
 *
 * @throws FormulaError (an OptionError) if the text has a fault. It points at the character.
 * @throws OptionError or ShapeError if a parameter is not allowed.
 */
export function formula<const P extends Parameters = Record<never, never>>(text: string, parameters?: P): Formula<P> {
  if (typeof text !== "string") throw new OptionError(`formula: the text must be a string, got ${describe(text)}`);
  const read = readParameters("formula", parameters);
  const kinds = read.map(({ name, rank, integer }) => ({ name, rank, integer }));
  const graph = frozen(lowered(text, parse(text), kinds));
  return new Formula({ text, graph, values: read.map(({ value }) => value) });
}
