import { ownMemory } from "../wasm/ownMemory.js";

/** `maximumMemory` of createAttention, in bytes, if it is not given. */
export const DEFAULT_MEMORY = 2 ** 30;

/** Bytes of an instance's memory that tensors, layers and calls can use. */
export function usableMemory(maximumMemory: number, threads: number): number {
  return Math.max(maximumMemory - ownMemory(threads), 0);
}
