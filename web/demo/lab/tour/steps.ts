import type { Step } from "./step.js";
import { copiesStep } from "./steps/copies.js";
import { distance } from "./steps/distance.js";
import { favourite } from "./steps/favourite.js";
import { meaning } from "./steps/meaning.js";
import { pairs } from "./steps/pairs.js";
import { tiles } from "./steps/tiles.js";
import { twins } from "./steps/twins.js";

/** The tour, in order. */
export const STEPS: readonly Step[] = [twins, distance, favourite, pairs, tiles, meaning, copiesStep];

/** The address of a step, from 1. */
export function stepAddress(number: number): string {
  const { room, before } = STEPS[number - 1]!;
  return `#/${room}?${before}&tour=${number}`;
}
