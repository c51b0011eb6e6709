import type { Cell } from "../../shell/numberGrid.js";
import { at, type Matrix } from "../../shell/matrix.js";
import { decimal } from "../../shell/numbers.js";

/** Two ways to read a product of matrices. */
export type Reading = "dots" | "sums";

export interface Factor {
  readonly name: string;
  readonly matrix: Matrix;
}

/**
 * Explains a number of a·b in words. "dots": the product of a row and a column, a similarity of two vectors. "sums":
 * part of a row that is the sum of b's rows, weighted by a's row.
 */
export function explain(a: Factor, b: Factor, { row, column }: Cell, reading: Reading): string {
  const terms = Array.from({ length: a.matrix.columns }, (_, k) => k);
  const weight = (k: number) => signed(at(a.matrix, row, k));
  if (reading === "dots") {
    const products = terms.map((k) => `${weight(k)}·${signed(at(b.matrix, k, column))}`).join(" + ");
    const sum = terms.reduce((total, k) => total + at(a.matrix, row, k) * at(b.matrix, k, column), 0);
    return `Row ${row + 1} of ${a.name} times column ${column + 1} of ${b.name}: ${products} = ${decimal(sum)}.`;
  }
  const parts = terms.map((k) => `${weight(k)}·(row ${k + 1})`).join(" + ");
  return `Row ${row + 1} of the product is a mixture of ${b.name}’s rows: ${parts}.`;
}

function signed(value: number): string {
  return value < 0 ? `(${decimal(value)})` : decimal(value);
}
