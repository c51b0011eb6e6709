import { VARIABLES, type Node, type Variable } from "../../formula/graph.js";
import { nodesFor, type Writing } from "./formulaForm.js";
import { divisorOf, INTEGER } from "./nodeKinds.js";

/** The text of each variable. */
export type VariableTexts = Readonly<Record<Variable, string>>;

/** The type of a value in WGSL. */
export const TYPES = { bool: "bool", finite: "f32", word: "u32" } as const;

/** The lines that compute nodes, one pair of a query and a key at a time. */
export class ScalarText {
  readonly #writing: Writing;
  readonly #variables: VariableTexts;
  readonly #given: (index: number) => string | undefined;

  /** @param given - The text of a node that is known already. */
  constructor(writing: Writing, variables: VariableTexts, given: (index: number) => string | undefined) {
    this.#writing = writing;
    this.#variables = variables;
    this.#given = given;
  }

  /** A line for each node that `results` need. */
  lines(results: readonly number[]): string[] {
    const { nodes, kinds, prefix } = this.#writing;
    const needed = nodesFor(nodes, results, (index) => this.#given(index) !== undefined);
    return needed
      .filter((index) => nodes[index]!.op !== "number" && this.#given(index) === undefined)
      .map((index) => `  let ${prefix}${index}: ${TYPES[kinds[index]!.held]} = ${this.#computed(index)};`);
  }

  /** A node as it is held. */
  held(index: number): string {
    const { nodes, kinds, prefix } = this.#writing;
    const { op, value } = nodes[index]!;
    if (op === "number") return kinds[index]!.held === "finite" ? floatLiteral(value!) : wordLiteral(value!);
    return this.#given(index) ?? `${prefix}${index}`;
  }

  word(index: number): string {
    const { nodes, kinds } = this.#writing;
    if (nodes[index]!.op === "number") return wordLiteral(nodes[index]!.value!);
    const text = this.held(index);
    return { bool: `select(0u, ONE, ${text})`, finite: `word_of(${text})`, word: text }[kinds[index]!.held];
  }

  bool(index: number): string {
    const text = this.held(index);
    return { bool: text, finite: `(${text} != 0f)`, word: `is_true(${text})` }[this.#writing.kinds[index]!.held];
  }

  /** A node that is not held as a word. */
  #float(index: number): string {
    const text = this.held(index);
    return this.#writing.kinds[index]!.held === "bool" ? `select(0f, 1f, ${text})` : text;
  }

  /** A node as an index of a table. */
  index(index: number): string {
    return this.#writing.kinds[index]!.held === "word" ? `index_from(${this.held(index)})` : this.#float(index);
  }

  #computed(index: number): string {
    const { nodes, kinds } = this.#writing;
    const node = nodes[index]!;
    const { held } = kinds[index]!;
    const areFloats = node.of.every((each) => kinds[each]!.held !== "word");
    if (held === "bool") return this.#boolean(node, areFloats);
    if (held === "finite") return this.#finite(node);
    return this.#word(node);
  }

  #boolean({ op, of }: Node, areFloats: boolean): string {
    const [a, b, c] = of as [number, number, number];
    const compare = (operator: string, name: string) =>
      areFloats ? `${this.#float(a)} ${operator} ${this.#float(b)}` : `${name}(${this.word(a)}, ${this.word(b)})`;
    switch (op) {
      case "not":
        return `!${this.bool(a)}`;
      case "and":
        return `${this.bool(a)} && ${this.bool(b)}`;
      case "or":
        return `${this.bool(a)} || ${this.bool(b)}`;
      case "less":
        return compare("<", "is_below");
      case "lessOrEqual":
        return compare("<=", "is_at_most");
      case "equal":
        return compare("==", "is_equal");
      case "notEqual":
        return compare("!=", "!is_equal");
      default:
        return `select(${this.bool(c)}, ${this.bool(b)}, ${this.bool(a)})`;
    }
  }

  /** The device's own operators, where no operand and no result can be NaN or infinite. */
  #finite(node: Node): string {
    const { op, of, slot, variable } = node;
    const [a, b, c] = of as [number, number, number];
    const float = (index: number) => this.#float(index);
    switch (op) {
      case "variable":
        return this.#variables[variable!];
      case "parameter":
      case "table1":
      case "table2":
        return `float_from(${this.#looked(op, of, slot!)})`;
      case "negate":
        return `-${float(a)}`;
      case "abs":
      case "floor":
      case "sign":
        return `${op}(${float(a)})`;
      case "add":
        return `${float(a)} + ${float(b)}`;
      case "subtract":
        return `${float(a)} - ${float(b)}`;
      case "multiply":
        return `${float(a)} * ${float(b)}`;
      case "divide":
        return this.#quotient(node);
      case "remainder":
        return this.#remainder(node);
      case "minimum":
        return `min(${float(a)}, ${float(b)})`;
      case "maximum":
        return `max(${float(a)}, ${float(b)})`;
      case "select":
        return `select(${float(c)}, ${float(b)}, ${this.bool(a)})`;
      default:
        return `float_from(${this.#word({ op, of })})`;
    }
  }

  /** The product with the reciprocal, where that is exact. */
  #quotient(node: Node): string {
    const { nodes } = this.#writing;
    const [a, b] = node.of as [number, number];
    if (Number.isInteger(Math.log2(divisorOf(node, nodes)!)))
      return `${this.#float(a)} * ${floatLiteral(1 / nodes[b]!.value!)}`;
    return `float_from(${this.#word(node)})`;
  }

  /** In integers, where both are whole. */
  #remainder(node: Node): string {
    const { nodes, kinds } = this.#writing;
    const [a, b] = node.of as [number, number];
    const isWhole = [a, b].every((each) => kinds[each]!.whole && kinds[each]!.most <= INTEGER);
    return isWhole ? `f32(i32(${this.#float(a)}) % ${nodes[b]!.value!}i)` : `float_from(${this.#word(node)})`;
  }

  #word({ op, of, slot, variable }: Node): string {
    const [a, b, c] = of as [number, number, number];
    switch (op) {
      case "variable":
        return this.#variables[variable!];
      case "parameter":
      case "table1":
      case "table2":
        return this.#looked(op, of, slot!);
      case "negate":
        return `${this.word(a)} ^ SIGN`;
      case "abs":
        return `${this.word(a)} & SIZE`;
      case "select":
        return `select(${this.word(c)}, ${this.word(b)}, ${this.bool(a)})`;
      default:
        return `${WORD_FUNCTIONS[op]!}(${of.map((each) => this.word(each)).join(", ")})`;
    }
  }

  #looked(op: Node["op"], of: readonly number[], slot: number): string {
    const at = `${this.#writing.words[slot]!}u`;
    if (op === "parameter") return `number_at(${at})`;
    const name = op === "table1" ? "entry_of" : "entry_of_rows";
    return `${name}(${[at, ...of.map((each) => this.index(each))].join(", ")})`;
  }
}

/** The functions of formula_numbers.wgsl. */
const WORD_FUNCTIONS: Readonly<Partial<Record<Node["op"], string>>> = {
  floor: "floor_of",
  sign: "sign_of",
  sqrt: "root_of",
  exp: "exp_of",
  log: "log_of",
  tanh: "tanh_of",
  sin: "sin_of",
  cos: "cos_of",
  add: "sum_of",
  subtract: "difference_of",
  multiply: "product_of",
  divide: "quotient_of",
  remainder: "remainder_of",
  power: "power_of",
  minimum: "least_of",
  maximum: "greatest_of",
};

/** The lines that compute what nodes can be in a tile, by the functions of formula_ranges.wgsl. */
export class RangeText {
  readonly #writing: Writing;

  constructor(writing: Writing) {
    this.#writing = writing;
  }

  lines(results: readonly number[]): string[] {
    const { nodes, prefix } = this.#writing;
    return nodesFor(nodes, results, () => false).map((index) => `  let ${prefix}${index} = ${this.#computed(index)};`);
  }

  range(index: number): string {
    const { kinds, prefix } = this.#writing;
    return kinds[index]!.held === "bool" ? `range_of_maybe(${prefix}${index})` : `${prefix}${index}`;
  }

  maybe(index: number): string {
    const { kinds, prefix } = this.#writing;
    return kinds[index]!.held === "bool" ? `${prefix}${index}` : `maybe_true(${prefix}${index})`;
  }

  #computed(index: number): string {
    const { nodes, kinds, words } = this.#writing;
    const { op, of, value, variable, slot } = nodes[index]!;
    const [a, b, c] = of as [number, number, number];
    const range = (each: number) => this.range(each);
    const isBool = kinds[index]!.held === "bool";
    switch (op) {
      case "number":
        return `just_word(${wordLiteral(value!)})`;
      case "variable":
        return TILE_VARIABLES[variable!];
      case "parameter":
        return `just_word(number_at(${words[slot!]!}u))`;
      case "table1":
        return `range_of_table(${words[slot!]!}u, ${range(a)})`;
      case "table2":
        return `range_of_rows(${words[slot!]!}u, ${range(a)}, ${range(b)})`;
      case "not":
        return `maybe_not(${this.maybe(a)})`;
      case "and":
      case "or":
        return `maybe_${op}(${this.maybe(a)}, ${this.maybe(b)})`;
      case "less":
        return `maybe_less(${range(a)}, ${range(b)})`;
      case "lessOrEqual":
        return `maybe_at_most(${range(a)}, ${range(b)})`;
      case "equal":
        return `maybe_equal(${range(a)}, ${range(b)})`;
      case "notEqual":
        return `maybe_not(maybe_equal(${range(a)}, ${range(b)}))`;
      case "select":
        return isBool
          ? `maybe_select(${this.maybe(a)}, ${this.maybe(b)}, ${this.maybe(c)})`
          : `range_select(${this.maybe(a)}, ${range(b)}, ${range(c)})`;
      default:
        return `range_${op}(${of.map(range).join(", ")})`;
    }
  }
}

/** Variables in a tile, of FormulaTile. `visible` does not read s. */
const TILE_VARIABLES: VariableTexts = {
  ...(Object.fromEntries(VARIABLES.map((name) => [name, `tile.${name.toLowerCase()}`])) as Record<Variable, string>),
  s: "anything()",
  D: "just_word(number_at(0u))",
};

/** A float32 as WGSL, exactly. */
function floatLiteral(value: number): string {
  const text = `${Math.fround(value)}f`;
  return value < 0 || Object.is(value, -0) ? `(${text})` : text;
}

function wordLiteral(value: number): string {
  return `0x${new Uint32Array(Float32Array.of(value).buffer)[0]!.toString(16)}u`;
}
