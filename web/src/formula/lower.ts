import { FormulaError } from "./formulaError.js";
import { VARIABLES, type Graph, type Operation, type Parameter, type Variable } from "./graph.js";
import { GraphBuilder } from "./graphBuilder.js";
import { MAX_NODES } from "./limits.js";
import { CONSTANTS, didYouMean, FUNCTIONS, isReserved, type FunctionName } from "./names.js";
import { isFloat32 } from "./parameters.js";
import {
  endOf,
  startOf,
  writtenAs,
  type Binary,
  type Call,
  type Identifier,
  type Member,
  type Syntax,
} from "./syntax.js";

/** The longest chain of operations, such as 1 + 1 + 1 + …. It keeps recursion within the stack. */
const MAX_CHAIN = 2 * MAX_NODES;

/** A node, and whether it is a boolean in the text. A boolean that is known is a number of the graph. */
interface Typed {
  readonly node: number;
  readonly isBoolean: boolean;
}

/**
 * Checks an expression and makes the graph of it.
 *
 * @throws FormulaError if a name is unknown, or if the expression has something that formulas do not have.
 */
export function lowered(text: string, syntax: Syntax, parameters: readonly Parameter[]): Graph {
  const lowering = new Lowering(text, parameters);
  const graph = lowering.builder.graph(lowering.lower(syntax).node);
  if (graph.nodes.length > MAX_NODES)
    throw new FormulaError(text, 0, `the formula must have at most ${MAX_NODES} operations, got ${graph.nodes.length}`);
  return graph;
}

/** The operators of numbers. `swap` turns a > b into b < a. */
const OPERATORS: ReadonlyMap<string, { readonly op: Operation; readonly swap?: boolean; readonly compares?: boolean }> =
  new Map([
    ["+", { op: "add" }],
    ["-", { op: "subtract" }],
    ["*", { op: "multiply" }],
    ["/", { op: "divide" }],
    ["%", { op: "remainder" }],
    ["**", { op: "power" }],
    ["<", { op: "less", compares: true }],
    ["<=", { op: "lessOrEqual", compares: true }],
    [">", { op: "less", swap: true, compares: true }],
    [">=", { op: "lessOrEqual", swap: true, compares: true }],
    ["==", { op: "equal", compares: true }],
    ["===", { op: "equal", compares: true }],
    ["!=", { op: "notEqual", compares: true }],
    ["!==", { op: "notEqual", compares: true }],
  ]);

const INSTEAD: ReadonlyMap<string, string> = new Map([
  ["&", "&&"],
  ["|", "||"],
  ["^", "**"],
  ["~", "!"],
]);

class Lowering {
  readonly builder: GraphBuilder;
  readonly #text: string;
  readonly #parameters: readonly Parameter[];
  #chain = 0;

  constructor(text: string, parameters: readonly Parameter[]) {
    this.builder = new GraphBuilder(parameters);
    this.#text = text;
    this.#parameters = parameters;
  }

  lower(syntax: Syntax): Typed {
    if (++this.#chain > MAX_CHAIN)
      throw this.#error(syntax, `the formula has a chain of more than ${MAX_CHAIN} operations`);
    const typed = this.#lowered(syntax);
    --this.#chain;
    return typed;
  }

  #lowered(syntax: Syntax): Typed {
    switch (syntax.type) {
      case "Literal":
        if (/^0\d/.test(syntax.raw)) throw this.#error(syntax, "a number cannot start with 0 before other digits");
        return this.#literal(syntax, syntax.value);
      case "Identifier":
        return this.#name(syntax);
      case "UnaryExpression":
        return this.#unary(syntax, syntax.operator, syntax.argument);
      case "BinaryExpression":
        return this.#binary(syntax);
      case "ConditionalExpression":
        return this.#conditional(syntax.test, syntax.consequent, syntax.alternate);
      case "MemberExpression":
        return this.#element(syntax);
      case "CallExpression":
        return this.#call(syntax);
      case "ArrayExpression":
        throw this.#error(syntax, "lists are not allowed: give a table as a parameter");
      case "ThisExpression":
        throw this.#error(syntax, "this is not allowed");
    }
  }

  #literal(syntax: Syntax, value: unknown): Typed {
    if (isFloat32(value)) return this.#number(value);
    if (typeof value === "number") throw this.#error(syntax, `a number must fit in float32, got ${value}`);
    if (typeof value === "boolean") return { node: this.builder.number(value ? 1 : 0), isBoolean: true };
    throw this.#error(syntax, value === null ? "null is not allowed" : "texts are not allowed");
  }

  #number(value: number): Typed {
    // no node is NaN: it is computed
    const zero = this.builder.number(0);
    const node = Number.isNaN(value) ? this.builder.make("divide", zero, zero) : this.builder.number(value);
    return { node, isBoolean: false };
  }

  #name(syntax: Identifier): Typed {
    const { name } = syntax;
    if ((VARIABLES as readonly string[]).includes(name))
      return { node: this.builder.variable(name as Variable), isBoolean: false };
    const constant = CONSTANTS.get(name);
    if (constant !== undefined) return this.#number(constant);
    const slot = this.#slot(syntax);
    const { rank } = this.#parameters[slot]!;
    if (rank > 0) throw this.#error(syntax, `${name} is a table: look up an element, as ${exampleOf(name, rank)}`);
    return { node: this.builder.parameter(slot), isBoolean: false };
  }

  #slot(syntax: Identifier): number {
    const slot = this.#parameters.findIndex(({ name }) => name === syntax.name);
    if (slot < 0) throw this.#unknown(syntax);
    return slot;
  }

  #unknown(syntax: Identifier): FormulaError {
    const { name } = syntax;
    if (FUNCTIONS.has(name as FunctionName)) return this.#error(syntax, `${name} is a function: write ${name}(…)`);
    const names = this.#parameters.map((parameter) => parameter.name);
    const longNames = [...VARIABLES, ...CONSTANTS.keys()].filter((known) => known.length > 1);
    const instead = writtenAs(name) || didYouMean(name, names) || didYouMean(name, longNames);
    const known = names.length > 0 ? `The parameters are ${names.join(", ")}` : "There are no parameters";
    return this.#error(
      syntax,
      `${name} is not a parameter${instead}`,
      `${known}; the variables are ${VARIABLES.join(", ")}.`,
    );
  }

  #unary(syntax: Syntax, operator: string, operand: Syntax): Typed {
    if (operator === "!") {
      const truth = this.#truth(operand);
      return { node: this.builder.make("not", truth), isBoolean: true };
    }
    if (operator !== "-" && operator !== "+") throw this.#operatorError(startOf(syntax), operator);
    const { node } = this.lower(operand);
    return { node: operator === "-" ? this.builder.make("negate", node) : node, isBoolean: false };
  }

  #truth(syntax: Syntax): number {
    return this.builder.truth(this.lower(syntax).node);
  }

  #binary(syntax: Binary): Typed {
    const { operator, left, right } = syntax;
    if (operator === "&&" || operator === "||") return this.#logical(operator, this.lower(left), this.lower(right));
    const known = OPERATORS.get(operator);
    if (!known) throw this.#operatorError(this.#placeOf(syntax), operator);
    const { op, swap, compares = false } = known;
    if (op === "power" && left.type === "UnaryExpression" && this.#text[startOf(left)] !== "(")
      throw this.#error(left, "a sign before ** needs parentheses: (-x) ** y or -(x ** y)");
    const [a, b] = [this.lower(left), this.lower(right)];
    if (op.startsWith("less") && (a.isBoolean || b.isBoolean))
      throw this.#error(
        a.isBoolean ? left : right,
        `${operator} compares a number with true or false`,
        "For a range write low <= k && k < high.",
      );
    return { node: this.builder.make(op, ...(swap ? [b.node, a.node] : [a.node, b.node])), isBoolean: compares };
  }

  /** As in JavaScript, `a && b` is a if a is false, otherwise b. `a || b` is a if a is true, otherwise b. */
  #logical(operator: "&&" | "||", a: Typed, b: Typed): Typed {
    const { builder } = this;
    const isBoolean = a.isBoolean && b.isBoolean;
    const condition = builder.truth(a.node);
    if (isBoolean) return { node: builder.make(operator === "&&" ? "and" : "or", condition, b.node), isBoolean };
    const [yes, no] = operator === "&&" ? [b, a] : [a, b];
    return { node: builder.make("select", condition, yes.node, no.node), isBoolean };
  }

  #conditional(test: Syntax, consequent: Syntax, alternate: Syntax): Typed {
    const condition = this.#truth(test);
    const [yes, no] = [this.lower(consequent), this.lower(alternate)];
    const node = this.builder.make("select", condition, yes.node, no.node);
    return { node, isBoolean: yes.isBoolean && no.isBoolean };
  }

  /** `table[a]` or `table[a][b]`. */
  #element(syntax: Member): Typed {
    const indices: Syntax[] = [];
    let table: Syntax = syntax;
    for (; table.type === "MemberExpression"; table = table.object) {
      if (!table.computed || table.optional) throw this.#memberError(table);
      indices.unshift(table.property);
    }
    if (table.type !== "Identifier") {
      this.lower(table); // it may have a fault of its own
      throw this.#error(table, "only a table has elements");
    }
    const { name } = table;
    if (isReserved(name)) throw this.#error(table, `${name} is not a table, so it has no elements`);
    const slot = this.#slot(table);
    const { rank } = this.#parameters[slot]!;
    if (rank === 0) throw this.#error(table, `${name} is a number, so it has no elements`);
    if (rank !== indices.length)
      throw this.#error(
        table,
        `${name} has ${rank} ${rank === 1 ? "axis" : "axes"}: look up an element, as ${exampleOf(name, rank)}`,
      );
    const nodes = indices.map((index) => this.lower(index).node);
    return { node: this.builder.parameter(slot, nodes), isBoolean: false };
  }

  #memberError(syntax: Member): FormulaError {
    const { property } = syntax;
    const name = property.type === "Identifier" && !syntax.computed ? property.name : undefined;
    const isMath = name !== undefined && FUNCTIONS.has(name as FunctionName);
    return this.#error(syntax, `members are not allowed${isMath ? `: write ${name}(…)` : ""}`);
  }

  #call(syntax: Call): Typed {
    const { callee } = syntax;
    if (callee.type === "MemberExpression") throw this.#memberError(callee);
    if (callee.type !== "Identifier") throw this.#error(callee, "only a function can be called");
    const { name } = callee;
    const known = FUNCTIONS.get(name as FunctionName);
    const names = [...FUNCTIONS.keys()];
    if (!known)
      throw this.#error(
        callee,
        `${name} is not a function${writtenAs(name) || didYouMean(name, names)}`,
        `The functions are ${names.join(", ")}.`,
      );
    this.#checkArguments(syntax, name, known);
    const nodes = syntax.arguments.map((argument) => this.lower(argument).node);
    return { node: this.#applied(name as FunctionName, nodes), isBoolean: false };
  }

  #checkArguments(
    syntax: Call,
    name: string,
    { least, most }: { readonly least: number; readonly most: number },
  ): void {
    const given = syntax.arguments;
    if (given.length < least || given.length > most)
      throw this.#error(
        syntax,
        `${name} needs ${most === Infinity ? "at least " : ""}${least} argument${least === 1 ? "" : "s"}, got ${given.length}`,
      );
    // jsep also reads min(a b)
    const missing = given.find((argument, n) => {
      const next = given[n + 1];
      return next && !this.#text.slice(endOf(argument), startOf(next)).includes(",");
    });
    if (missing) throw new FormulaError(this.#text, endOf(missing), "a comma is missing");
  }

  #applied(name: FunctionName, of: readonly number[]): number {
    const { builder } = this;
    const all = (op: Operation) => of.reduce((a, b) => builder.make(op, a, b));
    switch (name) {
      case "min":
        return all("minimum");
      case "max":
        return all("maximum");
      case "pow":
        return builder.make("power", ...of);
      case "clamp":
        return builder.make("minimum", builder.make("maximum", of[0]!, of[1]!), of[2]!);
      default:
        return builder.make(name, ...of);
    }
  }

  /** Where the operator of a binary expression is. */
  #placeOf({ left }: Binary): number {
    const end = endOf(left);
    return end + this.#text.slice(end).search(/\S/);
  }

  #operatorError(position: number, operator: string): FormulaError {
    const instead = INSTEAD.get(operator);
    return new FormulaError(
      this.#text,
      position,
      `the operator ${operator} is not allowed${instead ? `; did you mean ${instead}?` : ""}`,
    );
  }

  #error(syntax: Syntax, problem: string, hint?: string): FormulaError {
    return new FormulaError(this.#text, startOf(syntax), problem, hint);
  }
}

function exampleOf(name: string, rank: number): string {
  return rank === 1 ? `${name}[h]` : `${name}[h][k]`;
}
