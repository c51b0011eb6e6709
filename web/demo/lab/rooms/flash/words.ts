import { are } from "../../shell/amounts.js";
import type { Matrix } from "../../shell/matrix.js";
import { counted, decimal, many, scientific } from "../../shell/numbers.js";
import { squareCost, tiledCost } from "./cost.js";
import type { Moment } from "./moment.js";
import { finished } from "./online.js";
import { DIM } from "./settings.js";

/** "After 8 of 10 tiles, row 13 has met 8 of the 14 keys that it sees, and remembers 6 numbers: …" Rows count from 0. */
export function finding({ step, steps, row, sees, seen }: Moment): string {
  const keys = seen < sees ? `${seen} of the ${sees} keys` : sees === 1 ? "the only key" : `all ${sees} keys`;
  return `After ${step + 1} of ${counted(steps.length, "tile")}, row ${row} has met ${keys} that it sees, and remembers ${2 + DIM} numbers: its maximum m, its sum ℓ and ${DIM} sums o.`;
}

export function tileWords({ steps, skipped }: Moment): string {
  const left =
    skipped === 0
      ? "none is skipped"
      : `${are(skipped)} skipped, because nothing in ${skipped === 1 ? "it" : "them"} is visible`;
  return `${counted(steps.length, "tile is", "tiles are")} computed; ${left}.`;
}

/** What is to come for the row; or its result, compared with headwise's output. */
export function resultWords({ row, sees, seen, history }: Moment, output: Matrix): string {
  if (seen < sees) {
    const left = counted(sees - seen, "key is", "keys are");
    return `Row ${row} is not finished: ${left} to come. A larger score would raise m, and α would shrink the sums.`;
  }
  const mine = finished(history.at(-1)!.after);
  const theirs = output.data.slice(row * output.columns, (row + 1) * output.columns);
  const apart = Math.max(...mine.map((value, d) => Math.abs(value - theirs[d]!)));
  const same = apart === 0 ? "exactly the same" : `the same to ${scientific(apart)}`;
  return `Row ${row} is finished: o/ℓ = (${mine.map((value) => decimal(value, 3)).join(", ")}). The output that headwise computes for this row is ${same}.`;
}

/** What tiles save, and what the mask does: each is said of what it does itself. */
export function costWords(length: number, causal: boolean): string {
  const [square, tiled, masked] = [squareCost(length), tiledCost(length, false), tiledCost(length, true)];
  const tiles = `Tiles move ${timesWords(square.traffic / tiled.traffic)} fewer bytes and compute the same.`;
  if (!causal) return tiles;
  return `${tiles} The mask leaves out whole tiles: ${timesWords(tiled.flops / masked.flops)} fewer operations, whichever way the others are computed.`;
}

/** "5.3 ×", "1,020 ×" */
export function timesWords(times: number): string {
  return `${times < 10 ? decimal(times, 1) : many(times)} ×`;
}

/** "keys 4 to 7" */
export function keysName(first: number, count: number): string {
  return count === 1 ? `key ${first}` : `keys ${first} to ${first + count - 1}`;
}
