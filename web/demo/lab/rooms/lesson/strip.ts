import { decimal } from "../../shell/numbers.js";

/**
 * Numbers as coloured cells: positive and negative ones differ in hue. `most` is the number with the full colour. A strip
 * is one element with a background: with an element for each cell, a scene took twice as long to lay out.
 */
export function strip(numbers: ArrayLike<number>, most: number): string {
  const stops = Array.from(numbers, (number, at) => {
    const colour = `color-mix(in srgb,var(--${number < 0 ? "minus" : "plus"}) ${Math.round(0.8 * shareOf(number, most))}%,var(--raised))`;
    return `${colour} ${percentOf(at, numbers)} ${percentOf(at + 1, numbers)}`;
  });
  return `<span class="strip" aria-hidden="true" style="background:linear-gradient(90deg,${stops.join()})"></span>`;
}

function percentOf(at: number, { length }: ArrayLike<number>): string {
  return `${Number(((100 * at) / length).toFixed(1))}%`;
}

/** The same with the numbers in the cells, as cells of a table's row. */
export function numberCells(numbers: ArrayLike<number>, most: number, digits = 1): string {
  return Array.from(numbers, (number) => `<td${shade(number, most)}>${decimal(number, digits)}</td>`).join("");
}

/** Weights in whole percents, as cells of a table's row. Small weights are seen too. */
export function weightCells(weights: ArrayLike<number>): string {
  return Array.from(weights, (weight) => {
    const percents = Math.round(100 * weight);
    return `<td${percents === 100 ? ' class="whole"' : ""}${shade(Math.sqrt(weight), 1)}>${percents}</td>`;
  }).join("");
}

function shade(number: number, most: number): string {
  return `${number < 0 ? ' class="less"' : ""} style="--v:${shareOf(number, most)}"`;
}

function shareOf(number: number, most: number): number {
  return most > 0 ? Math.min(100, Math.round((100 * Math.abs(number)) / most)) : 0;
}

/** The largest size of all numbers. */
export function mostOf(rows: readonly ArrayLike<number>[]): number {
  return Math.max(0, ...rows.flatMap((row) => Array.from(row, Math.abs)));
}
