import { MEMORY_PER_THREAD } from "./host.js";

/** Bytes of the engine's memory that are never free for calls: the module's own, and each thread's stack. */
export function ownMemory(threads: number): number {
  return 2 * 2 ** 20 + threads * MEMORY_PER_THREAD;
}
