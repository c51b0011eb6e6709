import { grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";

/** The width of the vectors that are compared. */
export const WIDTH = 64;

/** What it costs to let every position know of every other. */
export interface Operations {
  readonly multiplications: number;
  /** How many steps must wait for each other. */
  readonly waiting: number;
  /** How many steps lie between the first position and the last. */
  readonly path: number;
}

/** The products Q·Kᵀ and P·V. P·V waits for Q·Kᵀ; no number of a product waits for another number of it. */
export function ofProducts(positions: number): Operations {
  return { multiplications: 2 * positions * positions * WIDTH, waiting: 2, path: 1 };
}

/** The same two products as a program that takes one query after the other: q·Kᵀ, then p·V, for each. */
export function ofLoop(positions: number): Operations {
  return { ...ofProducts(positions), waiting: 2 * positions };
}

/** A recurrence h_t = A·h_(t−1) + B·x_t: every step waits for the one before. */
export function ofRecurrence(positions: number): Operations {
  return { multiplications: 2 * positions * WIDTH * WIDTH, waiting: positions, path: positions - 1 };
}

export function loopsWords(positions: number): string {
  const [product, recurrence] = [ofProducts(positions), ofRecurrence(positions)];
  const [fewer, more] = [product.multiplications, recurrence.multiplications].sort((a, b) => a - b) as [number, number];
  const times = grouped(more / fewer);
  const fewerProducts = t`The products multiply ${times} times less often, because S is smaller than the width ${WIDTH}.`;
  const fewerSteps = t`The recurrence multiplies ${times} times less often, because S is larger than the width ${WIDTH}.`;
  const less = fewer === more ? t`Both multiply equally often.` : positions < WIDTH ? fewerProducts : fewerSteps;
  return `${less} ${t`But of the recurrence’s ${grouped(recurrence.waiting)} steps each waits for the one before; the numbers of a product do not wait for each other, so a processor may compute them at once.`}`;
}
