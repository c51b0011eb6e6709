import jsep from "jsep";

import { FormulaError } from "./formulaError.js";
import { MAX_TEXT } from "./limits.js";

/** How deep parentheses, calls, look-ups, signs and conditions may be nested. It keeps recursion within the stack. */
const MAX_DEPTH = 128;

/** A level is an expression and a token. Within the deepest one are an expression, a token and a name. */
const DEEPEST = 2 * MAX_DEPTH + 3;

/** Where an expression is in the text, from `start` up to `end`. jsep's nodes have no place; `Reader` adds them. */
interface Place {
  start?: number;
  end?: number;
}

interface Literal extends Place {
  readonly type: "Literal";
  readonly value: unknown;
  readonly raw: string;
}

export interface Identifier extends Place {
  readonly type: "Identifier";
  readonly name: string;
}

interface Unary extends Place {
  readonly type: "UnaryExpression";
  readonly operator: string;
  readonly argument: Syntax;
}

export interface Binary extends Place {
  readonly type: "BinaryExpression";
  readonly operator: string;
  readonly left: Syntax;
  readonly right: Syntax;
}

interface Conditional extends Place {
  readonly type: "ConditionalExpression";
  readonly test: Syntax;
  readonly consequent: Syntax;
  readonly alternate: Syntax;
}

export interface Member extends Place {
  readonly type: "MemberExpression";
  readonly computed: boolean;
  readonly optional?: boolean;
  readonly object: Syntax;
  readonly property: Syntax;
}

export interface Call extends Place {
  readonly type: "CallExpression";
  readonly callee: Syntax;
  readonly arguments: readonly Syntax[];
}

/** What formulas do not have. */
interface Other extends Place {
  readonly type: "ArrayExpression" | "ThisExpression";
}

/** An expression as jsep reads it. */
export type Syntax = Literal | Identifier | Unary | Binary | Conditional | Member | Call | Other;

/** The part of jsep's class that `Reader` uses. jsep's types do not have the class. */
interface Parser {
  readonly expr: string;
  index: number;
  gobbleSpaces(): void;
  gobbleToken(): Syntax | false;
  gobbleExpression(): Syntax | false;
  gobbleIdentifier(): Syntax;
  gobbleBinaryOp(): string | false;
}

const { Jsep } = jsep as unknown as { readonly Jsep: new (text: string) => Parser };

/**
 * Reads the text of a formula as an expression of JavaScript.
 *
 * @throws FormulaError if it is not one.
 */
export function parse(text: string): Syntax {
  if (text.length > MAX_TEXT)
    throw new FormulaError(text, MAX_TEXT, `the text must have at most ${MAX_TEXT} characters, got ${text.length}`);
  return new Reader(text).readAll();
}

/** The index of an expression's first character. */
export function startOf(syntax: Syntax): number {
  let first = syntax;
  while (first.start === undefined) first = firstPart(first)!;
  return first.start;
}

/** The index after an expression's last character. */
export function endOf(syntax: Syntax): number {
  let last = syntax;
  while (last.end === undefined) last = (last as Binary).right;
  return last.end;
}

/** The part of an expression that begins where the expression begins. */
function firstPart(syntax: Syntax): Syntax | undefined {
  switch (syntax.type) {
    case "MemberExpression":
      return syntax.object;
    case "CallExpression":
      return syntax.callee;
    case "BinaryExpression":
      return syntax.left;
    case "ConditionalExpression":
      return syntax.test;
    default:
      return undefined;
  }
}

/** A question mark before a number such as .5, which jsep takes for the sign ?. of an optional member. */
const CONDITION = /\?(?=\.\d)/g;

/**
 * jsep with places and a limit of depth. It reads one expression: jsep would also read lists of expressions. And it reads
 * the signs ++, -- and ?. where JavaScript does.
 */
class Reader extends Jsep {
  readonly #text: string;
  /** Where `expr` has a space that the text does not have. */
  readonly #spaces: readonly number[];
  #depth = 0;

  constructor(text: string) {
    super(text.replace(CONDITION, "? ").replace(/\s/g, " ")); // JavaScript has more spaces than jsep
    this.#text = text;
    this.#spaces = Array.from(text.matchAll(CONDITION), ({ index }, n) => index + n + 1);
  }

  readAll(): Syntax {
    const syntax = this.gobbleExpression();
    if (!syntax || this.index < this.expr.length) this.throwError("");
    return syntax;
  }

  override gobbleToken(): Syntax | false {
    return this.#placed(() => super.gobbleToken());
  }

  override gobbleExpression(): Syntax | false {
    return this.#placed(() => super.gobbleExpression());
  }

  override gobbleIdentifier(): Syntax {
    const identifier = this.#placed(() => super.gobbleIdentifier());
    const { name } = identifier as Identifier;
    const sign = name.length > 1 ? name.search(SIGN) : -1;
    if (sign < 0) return identifier;
    this.index += sign - name.length; // jsep takes k≤q for a name
    return this.throwError("");
  }

  override gobbleBinaryOp(): string | false {
    this.#refuseSteps();
    return super.gobbleBinaryOp();
  }

  /** jsep calls it for what is in parentheses. */
  gobbleExpressions(): Syntax[] {
    return [this.gobbleExpression() || this.throwError("Expected expression")];
  }

  /** jsep calls it where the text is no expression. */
  throwError(description: string): never {
    const position = this.index - (description.startsWith("Unexpected token") ? 1 : 0); // jsep is behind that token
    throw new FormulaError(this.#text, this.#place(position), problemAt(this.expr.slice(position), description));
  }

  /** An index in `expr` as an index in the text. */
  #place(index: number): number {
    return index - this.#spaces.filter((space) => space < index).length;
  }

  /** In JavaScript a--b is not a - -b. */
  #refuseSteps(): void {
    this.gobbleSpaces();
    if (STEP.test(this.expr.slice(this.index, this.index + 2))) this.throwError("");
  }

  #placed<S extends Syntax | false>(read: () => S): S {
    this.#refuseSteps();
    const start = this.index;
    if (++this.#depth > DEEPEST) this.throwError(TOO_DEEP);
    const syntax = read();
    --this.#depth;
    if (!syntax) return syntax;
    const place = this.#place(start);
    syntax.start = place;
    syntax.end = this.#place(start + this.expr.slice(start, this.index).trimEnd().length);
    // jsep makes some parts without a call of these methods
    for (let part = firstPart(syntax); part && part.start === undefined; part = firstPart(part)) part.start = place;
    return syntax;
  }
}

const STEP = /\+\+|--/;

const TOO_DEEP = `the formula is nested more than ${MAX_DEPTH} deep`;

/** Signs and words of mathematics and other languages, and what JavaScript writes. */
const WRITTEN: Readonly<Record<string, string>> = {
  "≤": "<=",
  "≥": ">=",
  "≠": "!=",
  "=": "==",
  "×": "*",
  "·": "*",
  "÷": "/",
  "−": "-",
  "∞": "Infinity",
  "∧": "&&",
  "∨": "||",
  "¬": "!",
  and: "&&",
  or: "||",
  not: "!",
  mod: "%",
  if: "condition ? a : b",
  where: "condition ? a : b",
  inf: "Infinity",
  nan: "NaN",
  True: "true",
  False: "false",
};

/** FlexAttention's names of what a formula reads. */
const NAMED: Readonly<Record<string, string>> = {
  score: "s",
  q_idx: "q",
  kv_idx: "k",
  head: "h",
  batch: "b",
};

const SIGN = new RegExp(
  `[${Object.keys(WRITTEN)
    .filter((word) => word.length === 1)
    .join("")}]`,
);

/** "; JavaScript writes &&" for a sign, a word or a name that is another one here; nothing for any other. */
export function writtenAs(word: string): string {
  if (Object.hasOwn(WRITTEN, word)) return `; JavaScript writes ${WRITTEN[word]}`;
  return Object.hasOwn(NAMED, word) ? `; here it is named ${NAMED[word]}` : "";
}

function problemAt(rest: string, description: string): string {
  if (description === TOO_DEEP) return description;
  if (description.startsWith("Variable names cannot") && !SIGN.test(rest.charAt(0)))
    return "a name cannot start with a digit";
  if (description.startsWith("Unclosed quote")) return "texts are not allowed";
  if (rest === "") return endingTooEarly(description);
  const word = /^(?:[\w$]+|\+\+|--|.)/su.exec(rest)![0];
  if (STEP.test(word)) return `unexpected ${word}; two signs need a space between them`;
  if (word === "," && description.startsWith("Unclosed ["))
    return "unexpected ,; a table of two axes is read as t[q][k]";
  return `unexpected ${word}${writtenAs(word)}`;
}

function endingTooEarly(description: string): string {
  const missing = /^(?:Unclosed|Expected) ([([:)\]])/.exec(description)?.[1];
  if (!missing) return description === "" ? "the text is empty" : "the text ends where an expression must follow";
  return `the text ends where ${{ "(": ")", "[": "]" }[missing] ?? missing} must follow`;
}
