import type { Layout } from "../tensor/layout.js";
import { inMemory, type PlacedTensor } from "../tensor/tensor.js";
import type { Room } from "./heap.js";
import type { InputCopy } from "./module.js";

/** The enumerators of attention.h. */
export const DTYPE = { float32: 0, float16: 1, int8: 2, bfloat16: 3 } as const;
export const LAYOUT: Readonly<Record<Layout, number>> = { BHSD: 0, BSHD: 1, BSE: 2, BES: 3 };

/** Returns an input's address. Copies the input into the arena, now or `meanwhile`, unless it already lies in the engine. */
export function placeInput(arena: Room, tensor: PlacedTensor, meanwhile?: InputCopy[]): number {
  const { data, address } = inMemory(tensor);
  return address ?? arena.copy(data, meanwhile);
}
