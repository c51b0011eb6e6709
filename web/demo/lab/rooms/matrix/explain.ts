import type { Cell } from "../../shell/numberGrid.js";
import { at, type Matrix } from "../../shell/matrix.js";
import { decimal } from "../../shell/numbers.js";

/** The two ways to read a product of matrices. */
export type Reading = "dots" | "sums";

export interface Factor {
  readonly name: string;
  readonly matrix: Matrix;
}

/**
 * How a number of a·b came about, in words: as the product of a row and a column ("dots": pairwise similarities), or as
 * its row, a sum of b's rows under the weights of a's row ("sums": mixtures).
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
