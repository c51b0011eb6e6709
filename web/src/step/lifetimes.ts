import type { PlacedTensor } from "../tensor/tensor.js";
import { STEP_MEMORY, withTensors, type ArrayPlace, type StepProblem } from "./stepProblem.js";

/** From when to when an array has numbers that somebody needs: numbers of parts. */
export interface Lifetime {
  readonly first: number;
  readonly last: number;
  /** How many inputs, outputs and arguments of parts lie in the array. */
  readonly uses: number;
}

/** The lifetime of each array. Inputs are written before the first part, and outputs are read after the last one. */
export function lifetimesOf({ parts, inputs, outputs, places }: StepProblem): readonly Lifetime[] {
  const lifetimes = places.map(() => ({ first: Infinity, last: -Infinity, uses: 0 }));
  const touchedBy =
    (part: number) =>
    <T extends PlacedTensor>(tensor: T): T => {
      const lifetime = lifetimes[placeOf(places, tensor)];
      if (lifetime) {
        lifetime.first = Math.min(lifetime.first, part);
        lifetime.last = Math.max(lifetime.last, part);
        lifetime.uses += 1;
      }
      return tensor;
    };
  inputs.forEach(touchedBy(-1));
  parts.forEach((part, n) => withTensors(part, touchedBy(n)));
  outputs.forEach(({ x }) => touchedBy(parts.length)<PlacedTensor>(x.tensor));
  return lifetimes;
}

/** The number of the array in which a tensor lies; −1 for one of the user. */
export function placeOf(places: readonly ArrayPlace[], { address }: PlacedTensor): number {
  if (address === undefined || address < STEP_MEMORY) return -1;
  let [from, to] = [0, places.length];
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    if (places[middle]!.address <= address) from = middle;
    else to = middle;
  }
  return from;
}
