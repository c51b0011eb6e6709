import { OptionError, UnsupportedError } from "../base/errors.js";
import { expressionOf } from "../formula/expression.js";
import type { FormulaData, Table } from "../formula/graph.js";
import { MAX_WHOLE } from "../formula/limits.js";
import { reachOf, type Range, type Ranges } from "../formula/reach.js";
import type { AttentionShape } from "./attentionShape.js";
import type { SequencePositions } from "./callPositions.js";

/** The formulas of a call. */
export interface Formulas {
  readonly score: FormulaData | undefined;
  readonly visible: FormulaData | undefined;
}

/**
 * Checks the formulas of a call with what is known of its positions.
 *
 * @throws UnsupportedError if a position is too large for float32.
 * @throws OptionError if an index is known to lie outside of its table.
 */
export function checkFormulas(
  operation: string,
  formulas: Formulas,
  shape: AttentionShape,
  sequences: readonly SequencePositions[],
): void {
  const filled = sequences.filter(({ queryLength, keyLength }) => queryLength > 0 && keyLength > 0);
  for (const name of ["score", "visible"] as const) {
    const formula = formulas[name];
    if (!formula || filled.length === 0) continue;
    const ranges = rangesOf(shape, sequences.length, filled);
    checkPositions(operation, name, ranges);
    checkIndices(operation, name, formula, ranges);
  }
}

function rangesOf(shape: AttentionShape, count: number, sequences: readonly SequencePositions[]): Ranges {
  const over = (low: (each: SequencePositions) => number, high = low): Range => ({
    low: sequences.reduce((least, each) => Math.min(least, low(each)), Infinity),
    high: sequences.reduce((most, each) => Math.max(most, high(each)), -Infinity),
  });
  const first = () => 0;
  return {
    q: over(
      ({ offset }) => offset,
      ({ offset, queryLength }) => offset + queryLength - 1,
    ),
    k: over(first, ({ lastKey }) => lastKey),
    i: over(first, ({ queryLength }) => queryLength - 1),
    j: over(first, ({ keyLength }) => keyLength - 1),
    h: { low: 0, high: shape.numHeads - 1 },
    g: { low: 0, high: shape.numKvHeads - 1 },
    b: { low: 0, high: count - 1 },
    Sq: over(({ numQueries }) => numQueries),
    Skv: over(({ numKeys }) => numKeys),
    D: { low: shape.headDim, high: shape.headDim },
  };
}

/** float32 holds all whole numbers only below 2²⁴. */
function checkPositions(operation: string, name: string, { q, k }: Ranges): void {
  for (const [what, { low, high }] of Object.entries({ queries: q, keys: k })) {
    const largest = Math.max(-low, high);
    if (largest >= MAX_WHOLE)
      throw new UnsupportedError(
        `${operation}: ${name} needs positions below 2²⁴ = ${MAX_WHOLE}, got ${what} up to position ${largest}`,
      );
  }
}

/** Refuses indices that lie outside of their tables. What `?:`, `&&` and `||` guard is left alone. */
function checkIndices(operation: string, name: string, formula: FormulaData, ranges: Ranges): void {
  const { graph, values } = formula;
  for (const index of unguarded(formula)) {
    const { op, of, slot } = graph.nodes[index]!;
    if (op !== "table1" && op !== "table2") continue;
    const { extents } = values[slot!] as Table;
    of.forEach((operand, axis) => {
      const reached = reachOf(formula, operand, ranges);
      const [low, high] = [Math.floor(reached?.low ?? 0), Math.floor(reached?.high ?? 0)];
      if (low >= 0 && high < extents[axis]!) return;
      throw new OptionError(
        `${operation}: ${name} reads ${expressionOf(graph, index)} with ${expressionOf(graph, operand)} from ${low} to ` +
          `${high}, but axis ${axis} of the table ${graph.parameters[slot!]!.name} has the indices 0 to ${extents[axis]! - 1}`,
        { hint: "Outside of a table the element is 0. If you want that, guard it: `k < 8 ? t[k] : 0`." },
      );
    });
  }
}

/** The nodes that every pair needs. */
function unguarded({ graph }: FormulaData): Set<number> {
  const found = new Set<number>();
  const visit = (index: number) => {
    if (found.has(index)) return;
    found.add(index);
    const { op, of } = graph.nodes[index]!;
    for (const operand of ["select", "and", "or"].includes(op) ? of.slice(0, 1) : of) visit(operand);
  };
  visit(graph.result);
  return found;
}
