import type { CallArguments } from "../read/callArguments.js";
import type { OptionReader } from "../read/options.js";

/** The part of an instance that its layers and caches use. */
export interface Context {
  /** The engine of the instance. Layers, caches and calls can be combined if they have the same engine. */
  readonly engine: { readonly onGpu?: boolean };
  /**
   * Starts to read the arguments of a call.
   *
   * @param onGpu - Whether tensors of the call may lie on the GPU.
   * @throws DisposedError if the instance was disposed.
   */
  arguments(operation: string, onGpu?: boolean): CallArguments;
  /** Runs `work` when the call's turn comes: at once if no call is pending. */
  run<T>(call: CallArguments, work: () => Eventually<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Records a call into the caller's GPUCommandEncoder: before it returns if no call is pending and nothing has to be
   * compiled. Then the call does not wait in the queue.
   */
  record<T>(call: CallArguments, work: () => Recorded<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Runs or records a call of attention. Its options are read already, and it is read now. If it has formulas whose code is
   * not here, it takes its turn, waits there, and is read then, with its arguments as they are now.
   */
  withFormulas<Given extends readonly unknown[]>(
    call: CallArguments,
    options: OptionReader,
    given: Given,
    read: (options: OptionReader, given: Given) => ReadCall,
  ): Promise<unknown>;
  /**
   * Frees something after the calls made so far have run. Does nothing if the instance was disposed: that freed
   * everything.
   */
  release(operation: string, work: () => Eventually<void>): void;
}

/** A call that has been read. */
export interface ReadCall {
  /** What it does in its turn. */
  readonly work: () => Eventually<unknown>;
  /** Records it, if it has an encoder. */
  readonly record?: () => Recorded<unknown>;
  readonly signal: AbortSignal | undefined;
}

/** A call that is recorded into the caller's encoder. */
export interface Recorded<T> {
  /** Whether the commands are in the encoder already. If not, something had to be compiled or opened first. */
  readonly atOnce: boolean;
  /**
   * The results; they are valid when the caller has submitted. It waits only for what is new to the device. Other errors
   * surface where a result is read.
   */
  readonly results: Promise<T>;
}

/** A value or a promise of one. The wasm engine answers at once, others later. */
export type Eventually<T> = T | Promise<T>;
