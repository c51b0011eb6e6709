import { MEMORY_PER_THREAD } from "../load/host.js";

/** `maximumMemory` of createAttention, in bytes, if it is not given. */
export const DEFAULT_MEMORY = 2 ** 30;

/** Bytes of an instance's memory that tensors, layers and calls can use. */
export function usableMemory(maximumMemory: number, threads: number): number {
  return Math.max(maximumMemory - ownMemory(threads), 0);
}

/** Bytes of the engine's memory that are never free for calls: the module's own, and each thread's stack. */
export function ownMemory(threads: number): number {
  return 2 * 2 ** 20 + threads * MEMORY_PER_THREAD;
}
