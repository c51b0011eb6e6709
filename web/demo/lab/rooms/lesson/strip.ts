import { decimal } from "../../shell/numbers.js";

/** Numbers as coloured cells: positive and negative ones differ in hue. `most` is the number with the full colour. */
export function strip(numbers: ArrayLike<number>, most: number): string {
  return `<span class="strip" aria-hidden="true">${Array.from(numbers, (number) => `<i${shade(number, most)}></i>`).join("")}</span>`;
}

/** The same with the numbers in the cells, as cells of a table's row. */
export function numberCells(numbers: ArrayLike<number>, most: number, digits = 1): string {
  return Array.from(numbers, (number) => `<td${shade(number, most)}>${decimal(number, digits)}</td>`).join("");
}

/** Weights in whole percents, as cells of a table's row. Small weights are seen too. */
export function weightCells(weights: ArrayLike<number>): string {
  return Array.from(weights, (weight) => `<td${shade(Math.sqrt(weight), 1)}>${Math.round(100 * weight)}</td>`).join("");
}

function shade(number: number, most: number): string {
  const share = most > 0 ? Math.min(100, Math.round((100 * Math.abs(number)) / most)) : 0;
  return `${number < 0 ? ' class="less"' : ""} style="--v:${share}"`;
}

/** The largest size of all numbers. */
export function mostOf(rows: readonly ArrayLike<number>[]): number {
  return Math.max(0, ...rows.flatMap((row) => Array.from(row, Math.abs)));
}
