/** Random formulas with their parameters, as trees: of all operations, with usual and degenerate numbers. */

import fc from "fast-check";
import { formula, type Formula } from "headwise/formula";

import { textOf, type Tree } from "../attention-conformance/reference/formulaText.js";

/** The parameters of every random formula. */
export interface RandomParameters {
  readonly a: number;
  readonly c: number;
  readonly t: readonly number[];
  readonly m: readonly (readonly number[])[];
  readonly doc: Int32Array;
}

export interface RandomFormula {
  readonly text: string;
  readonly parameters: RandomParameters;
}

const usual = fc.oneof(
  fc.constantFrom(0, 1, 2, 3, 0.5, -1, 8, 0.25, 10),
  fc.double({ min: -4, max: 4, noNaN: true }).map((x) => Math.fround(x)),
);
const degenerate = fc.constantFrom(NaN, Infinity, -Infinity, -0, 1e30, -1e30, 1e-30, 2 ** 24, 88.5, -104, 1e-42);
const numbers = fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: degenerate });

const leaf = (text: string): Tree => ({ kind: "name", name: text });

/** What a number of a text may be: NaN and the infinities have names. */
function literal(value: number): Tree {
  if (Number.isNaN(value)) return leaf("NaN");
  if (Math.abs(value) === Infinity)
    return value > 0 ? leaf("Infinity") : { kind: "unary", sign: "-", operand: leaf("Infinity") };
  if (value < 0 || Object.is(value, -0))
    return { kind: "unary", sign: "-", operand: { kind: "number", value: -value } };
  return { kind: "number", value };
}

const positions = ["q", "k", "i", "j", "h", "g", "b", "Sq", "Skv", "D"] as const;
const ONE_OPERAND = ["abs", "floor", "sign", "sqrt", "exp", "log", "tanh", "sin", "cos"] as const;

const COMPARISONS = ["<", "<=", ">", ">=", "==", "!="] as const;

type Arbitraries = readonly [fc.Arbitrary<Tree>, fc.Arbitrary<Tree>, fc.Arbitrary<Tree>];

interface Drawn {
  number: Tree;
  boolean: Tree;
  whole: Tree;
}

/** Trees of numbers and of booleans. `s` is left out if a formula must not read it. */
function trees(readsScore: boolean) {
  const name = (...names: readonly string[]) => fc.constantFrom(...names).map(leaf);
  return fc.letrec<Drawn>((tie) => {
    const [number, whole, boolean] = [tie("number"), tie("whole"), tie("boolean")] as Arbitraries;
    return {
      number: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.oneof(numbers.map(literal), name("a", "c"), readsScore ? name("s") : name("q", "k")),
        whole,
        binary(["+", "-", "*", "/", "%"], number),
        calls(ONE_OPERAND, 1, number),
        calls(["pow", "min", "max"], 2, number),
        calls(["clamp"], 3, number),
        unary("-", number),
        choice(boolean, number, number),
        binary(["&&", "||"], number),
        element("t", whole),
        element("m", whole, whole),
        boolean,
      ),
      whole: fc.oneof(
        { maxDepth: 2, withCrossShrink: true },
        fc.oneof(name(...positions), fc.integer({ min: 0, max: 9 }).map(literal)),
        binary(["+", "-", "*", "%"], whole),
        calls(["abs"], 1, whole),
        fc
          .tuple(whole, fc.integer({ min: 1, max: 5 }))
          .map(([left, right]): Tree => ({ kind: "binary", sign: "/", left, right: literal(right) }))
          .map((of): Tree => ({ kind: "call", name: "floor", of: [of] })),
        element("doc", whole),
      ),
      boolean: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        binary(COMPARISONS, whole),
        binary(COMPARISONS, number.filter(isNumber)),
        binary(["&&", "||"], boolean),
        unary("!", boolean),
        fc.boolean().map((value): Tree => ({ kind: "boolean", value })),
      ),
    };
  });
}

/** Comparisons of booleans are refused, so they are not drawn. */
function isNumber(tree: Tree): boolean {
  switch (tree.kind) {
    case "boolean":
      return false;
    case "unary":
      return tree.sign !== "!";
    case "binary":
      return ["&&", "||"].includes(tree.sign) ? isNumber(tree.left) || isNumber(tree.right) : !/[<>=]/.test(tree.sign);
    case "choice":
      return isNumber(tree.yes) || isNumber(tree.no);
    default:
      return true;
  }
}

function unary(sign: string, of: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> {
  return of.map((operand) => ({ kind: "unary", sign, operand }));
}

function choice(test: fc.Arbitrary<Tree>, yes: fc.Arbitrary<Tree>, no: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> {
  return fc.record({ kind: fc.constant("choice" as const), test, yes, no });
}

function binary(signs: readonly string[], operand: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> {
  return fc
    .tuple(fc.constantFrom(...signs), operand, operand)
    .map(([sign, left, right]) => ({ kind: "binary", sign, left, right }));
}

function calls(names: readonly string[], count: number, operand: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> {
  return fc
    .tuple(fc.constantFrom(...names), fc.array(operand, { minLength: count, maxLength: count }))
    .map(([name, of]) => ({ kind: "call", name, of }));
}

function element(table: string, ...indices: readonly fc.Arbitrary<Tree>[]): fc.Arbitrary<Tree> {
  return fc.tuple(...indices).map((each) => ({ kind: "element", table, indices: each }));
}

const parameters: fc.Arbitrary<RandomParameters> = fc.record({
  a: usual,
  c: numbers,
  t: fc.array(numbers, { minLength: 12, maxLength: 12 }),
  m: fc.array(fc.array(usual, { minLength: 5, maxLength: 5 }), { minLength: 4, maxLength: 4 }),
  doc: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 16, maxLength: 16 }).map((list) => Int32Array.from(list)),
});

/** Every index may lie outside of its table: it is guarded, so that only its value is 0. */
const guarded = (tree: Tree): Tree => ({
  kind: "choice",
  test: { kind: "binary", sign: "<=", left: leaf("q"), right: leaf("Infinity") },
  yes: tree,
  no: { kind: "number", value: 0 },
});

const scoreTrees = trees(true);
const visibleTrees = trees(false);

/** Formulas for `score`. Most of them change s a little; some replace it or hide by it. */
export const scores: fc.Arbitrary<RandomFormula> = fc
  .record({
    tree: fc.oneof(
      scoreTrees.number.map((right): Tree => ({ kind: "binary", sign: "+", left: leaf("s"), right })),
      fc
        .tuple(scoreTrees.boolean, scoreTrees.number)
        .map(([test, no]): Tree => ({ kind: "choice", test, yes: leaf("s"), no })),
      scoreTrees.boolean.map((test): Tree => ({ kind: "choice", test, yes: leaf("s"), no: literal(-Infinity) })),
      scoreTrees.number,
    ),
    parameters,
  })
  .map(({ tree, parameters: drawn }) => ({ text: textOf(guarded(tree)), parameters: drawn }));

/** Formulas for `visible`. */
export const visibles: fc.Arbitrary<RandomFormula> = fc
  .record({ tree: fc.oneof(visibleTrees.boolean, visibleTrees.boolean, visibleTrees.number), parameters })
  .map(({ tree, parameters: drawn }) => ({
    text: `${textOf(guarded(tree))}`,
    parameters: drawn,
  }));

/** The formula of a random text. */
export function formulaOf({ text, parameters: drawn }: RandomFormula): Formula {
  return formula(text, { ...drawn });
}
