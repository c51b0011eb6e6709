import { countOf } from "../web/depth.js";

/**
 * The steps of a call at which a test injects a fault: the first, the last and some between them. `npm test -- --deep`
 * and the rows gpu-faults and allocation of `npm run trust` take all.
 *
 * @param taken - How many steps the call takes.
 */
export function faultSteps(taken: number): number[] {
  const count = Math.min(taken, countOf(4, taken));
  return Array.from({ length: count }, (_, n) => 1 + Math.round((n * (taken - 1)) / Math.max(1, count - 1)));
}
