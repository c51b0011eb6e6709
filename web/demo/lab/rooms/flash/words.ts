import { are } from "../../shell/amounts.js";
import type { Matrix } from "../../shell/matrix.js";
import { counted, decimal, many, scientific, series } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { squareCost, tiledCost } from "./cost.js";
import type { Moment } from "./moment.js";
import { finished } from "./online.js";
import { DIM } from "./settings.js";

/** "After 8 of 10 tiles, row 13 has met 8 of the 14 keys that it sees, and remembers 6 numbers: …" Rows count from 0. */
export function finding({ step, steps, row, sees, seen }: Moment): string {
  const keys =
    seen < sees
      ? t`${seen} of the ${sees} keys that it sees`
      : sees === 1
        ? t`the only key that it sees`
        : t`all ${sees} keys that it sees`;
  return t`After ${step + 1} of ${counted(steps.length, "tile")}, row ${row} has met ${keys}, and remembers ${2 + DIM} numbers: its maximum m, its sum ℓ and ${DIM} sums o.`;
}

export function tileWords({ steps, skipped }: Moment): string {
  const tiles = counted(steps.length, "tile is", "tiles are");
  if (skipped === 0) return t`${tiles} computed; none is skipped.`;
  if (skipped === 1) return t`${tiles} computed; ${are(1)} skipped, because nothing in it is visible.`;
  return t`${tiles} computed; ${are(skipped)} skipped, because nothing in them is visible.`;
}

/** What is to come for the row; or its result, compared with headwise's output. */
export function resultWords({ row, sees, seen, history }: Moment, output: Matrix): string {
  if (seen < sees) {
    const left = counted(sees - seen, "key is", "keys are");
    return t`Row ${row} is not finished: ${left} to come. A larger score would raise m, and α would shrink the sums.`;
  }
  const mine = finished(history.at(-1)!.after);
  const theirs = output.data.slice(row * output.columns, (row + 1) * output.columns);
  const apart = Math.max(...mine.map((value, d) => Math.abs(value - theirs[d]!)));
  const result = t`Row ${row} is finished: o/ℓ = (${series(mine, 3)}).`;
  return apart === 0
    ? t`${result} The output that headwise computes for this row is exactly the same.`
    : t`${result} The output that headwise computes for this row is the same to ${scientific(apart)}.`;
}

/** What tiles save, and what the mask does: each is said of what it does itself. */
export function costWords(length: number, causal: boolean): string {
  const [square, tiled, masked] = [squareCost(length), tiledCost(length, false), tiledCost(length, true)];
  const tiles = t`Tiles move ${timesWords(square.traffic / tiled.traffic)} fewer bytes and compute the same.`;
  if (!causal) return tiles;
  return t`${tiles} The mask leaves out whole tiles: ${timesWords(tiled.flops / masked.flops)} fewer operations, whichever way the others are computed.`;
}

/** "5.3 ×", "1,020 ×" */
export function timesWords(times: number): string {
  return `${times < 10 ? decimal(times, 1) : many(times)} ×`;
}

/** "keys 4 to 7" */
export function keysName(first: number, count: number): string {
  return count === 1 ? t`key ${first}` : t`keys ${first} to ${first + count - 1}`;
}
