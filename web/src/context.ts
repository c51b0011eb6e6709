import type { Backend, Eventually, Report } from "./backend.js";
import type { CallArguments } from "./callArguments.js";

/** What an object made by an instance (a layer, a cache) needs of it. */
export interface Context {
  readonly backend: Backend;
  readonly report: Report;
  /**
   * The arguments of a call that is made now.
   *
   * @param onGpu - Whether its tensors may lie on the GPU.
   * @throws DisposedError once the instance is disposed.
   */
  arguments(operation: string, onGpu?: boolean): CallArguments;
  /** Runs `work` when the call's turn comes: at once if no call is pending. */
  run<T>(call: CallArguments, work: () => Eventually<T>, signal?: AbortSignal): Promise<T>;
  /** Gives something back once the calls made so far have run. An instance that was disposed has given back all. */
  release(operation: string, work: () => Eventually<void>): void;
}
