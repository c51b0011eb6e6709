import { lifetimesOf, placeOf, type Lifetime } from "../step/lifetimes.js";
import { STEP_MEMORY, withTensors, type ArrayPlace, type StepProblem } from "../step/stepProblem.js";
import type { PlacedTensor } from "../tensor/tensor.js";

/** A place in memory that is taken, until a part has run. */
interface Taken {
  readonly start: number;
  readonly end: number;
  readonly last: number;
}

/** Lets arrays of a step lie in the same memory if they are never needed at the same time. */
export function withSharedMemory(problem: StepProblem): StepProblem & { readonly bytes: number } {
  const { places } = problem;
  const { starts, bytes } = startsOf(lifetimesOf(problem), places);
  const moved = <T extends PlacedTensor>(tensor: T): T => {
    const n = placeOf(places, tensor);
    return n < 0 ? tensor : { ...tensor, address: STEP_MEMORY + starts[n]! + tensor.address! - places[n]!.address };
  };
  return {
    ...problem,
    bytes,
    parts: problem.parts.map((part) => withTensors(part, moved)),
    inputs: problem.inputs.map(moved),
    outputs: problem.outputs.map((output) => ({
      ...output,
      x: { ...output.x, tensor: moved<PlacedTensor>(output.x.tensor) } as typeof output.x,
    })),
  };
}

/** For each array, in the order in which they are needed, the smallest gap that is wide enough. */
function startsOf(lifetimes: readonly Lifetime[], places: readonly ArrayPlace[]) {
  const starts = places.map(() => 0);
  const order = [...places.keys()].sort((a, b) => lifetimes[a]!.first - lifetimes[b]!.first);
  let taken: Taken[] = [];
  let bytes = 0;
  for (const n of order) {
    const { first, last } = lifetimes[n]!;
    taken = taken.filter((place) => place.last >= first);
    const start = gapFor(places[n]!.bytes, taken);
    const end = start + places[n]!.bytes;
    starts[n] = start;
    taken = [...taken, { start, end, last }].sort((a, b) => a.start - b.start);
    bytes = Math.max(bytes, end);
  }
  return { starts, bytes };
}

/** Where the smallest gap that is wide enough begins; the end of what is taken if there is none. */
function gapFor(bytes: number, taken: readonly Taken[]): number {
  let end = 0;
  let best = { start: -1, width: Infinity };
  for (const place of taken) {
    const width = place.start - end;
    if (width >= bytes && width < best.width) best = { start: end, width };
    end = place.end;
  }
  return best.start < 0 ? end : best.start;
}
