import type { Backend, Eventually, Report } from "./backend.js";

/** What an object made by an instance (a layer, a cache) needs of it. */
export interface Context {
  readonly backend: Backend;
  readonly report: Report;
  /** Throws DisposedError once the instance is disposed. */
  assertAlive(operation: string): void;
  /** Runs `work` when its turn comes: at once if no call is pending. */
  run<T>(operation: string, work: () => Eventually<T>, signal?: AbortSignal): Promise<T>;
}
