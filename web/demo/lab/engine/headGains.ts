import type { HeadPlace } from "../shell/headPlace.js";

/** One factor for each head of each layer: 0 for the heads that are off, 1 for all others. */
export function gainsWithout(
  { layers, heads }: { readonly layers: number; readonly heads: number },
  off: readonly HeadPlace[],
): readonly (readonly number[])[] {
  const isOff = (layer: number, head: number) => off.some((place) => place.layer === layer && place.head === head);
  return Array.from({ length: layers }, (_, at) =>
    Array.from({ length: heads }, (__, head) => Number(!isOff(at + 1, head))),
  );
}
