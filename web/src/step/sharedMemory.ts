import type { PlacedTensor } from "../tensor/tensor.js";
import { STEP_MEMORY, withTensors, type StepProblem } from "./stepProblem.js";

/** Where an array of a step lies. */
export interface StepPlace {
  readonly address: number;
  readonly bytes: number;
}

/** From when to when an array has numbers that somebody needs: numbers of parts. */
interface Span {
  first: number;
  last: number;
}

/** A place in memory that is taken, until a part has run. */
interface Taken {
  readonly start: number;
  readonly end: number;
  readonly last: number;
}

/**
 * Lets arrays of a step lie in the same memory if they are never needed at the same time.
 *
 * @param places - Those of all arrays, one after another.
 */
export function withSharedMemory(problem: StepProblem, places: readonly StepPlace[]): StepProblem {
  const spans = spansOf(problem, places);
  const { starts, bytes } = startsOf(spans, places);
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

/** Inputs are written before the first part, and outputs are read after the last one. */
function spansOf({ parts, inputs, outputs }: StepProblem, places: readonly StepPlace[]): readonly Span[] {
  const spans = places.map((): Span => ({ first: Infinity, last: -Infinity }));
  const touchedBy =
    (part: number) =>
    <T extends PlacedTensor>(tensor: T): T => {
      const span = spans[placeOf(places, tensor)];
      if (span) Object.assign(span, { first: Math.min(span.first, part), last: Math.max(span.last, part) });
      return tensor;
    };
  inputs.forEach(touchedBy(-1));
  parts.forEach((part, n) => withTensors(part, touchedBy(n)));
  outputs.forEach(({ x }) => touchedBy(parts.length)<PlacedTensor>(x.tensor));
  return spans;
}

/** For each array, in the order in which they are needed, the smallest gap that is wide enough. */
function startsOf(spans: readonly Span[], places: readonly StepPlace[]) {
  const starts = places.map(() => 0);
  const order = [...places.keys()].sort((a, b) => spans[a]!.first - spans[b]!.first);
  let taken: Taken[] = [];
  let bytes = 0;
  for (const n of order) {
    const { first, last } = spans[n]!;
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

/** The number of the array in which a tensor lies; −1 for one of the user. */
function placeOf(places: readonly StepPlace[], { address }: PlacedTensor): number {
  if (address === undefined || address < STEP_MEMORY) return -1;
  let [from, to] = [0, places.length];
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    if (places[middle]!.address <= address) from = middle;
    else to = middle;
  }
  return from;
}
