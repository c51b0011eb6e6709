import type { Matrix } from "./matrix.js";

/** The numbers of a matrix as the lines of an array literal. */
export function formatRows({ rows, columns, data }: Matrix): string {
  return Array.from(
    { length: rows },
    (_, row) => `  ${data.slice(row * columns, (row + 1) * columns).join(", ")},`,
  ).join("\n");
}
