import type { CallArguments } from "./callArguments.js";

/** What an object made by an instance (a layer, a cache) needs from the instance. */
export interface Context {
  /** The engine of the instance. Objects of the same engine work together. */
  readonly engine: { readonly onGpu?: boolean };
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

/** A result at hand, or one to come. */
export type Eventually<T> = T | Promise<T>;
