import type { Field } from "./field.js";
import { placeName, placeOf } from "./headPlace.js";

const LAYERS = 2;
const HEADS_PER_LAYER = 4;

/** A head of the encoder. Code counts over both layers, from 0; the address says layer and head, as in "2.1". */
export function encoderHead(initial: number): Field<number> {
  const parse = (text: string) => {
    const place = placeOf(text);
    const isThere = place && place.layer <= LAYERS && place.head < HEADS_PER_LAYER;
    return isThere ? (place.layer - 1) * HEADS_PER_LAYER + place.head : undefined;
  };
  return { initial, parse, write: encoderHeadName };
}

/** Writes "2.1" for an address. */
export function encoderHeadName(head: number): string {
  return placeName({ layer: Math.floor(head / HEADS_PER_LAYER) + 1, head: head % HEADS_PER_LAYER });
}
