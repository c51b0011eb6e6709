import type { TensorData } from "./tensor.js";

/** Where tensors of a call may lie beside ordinary memory. A backend says it of itself. */
export interface Placement {
  /** Whether they may lie on the GPU. */
  readonly onGpu?: boolean;
  /**
   * The address of an array that lies in the engine's memory; undefined for any other.
   *
   * @param given - The caller's array; `view` is the same memory as the reader saw it.
   * @throws DisposedError if its tensor was disposed.
   */
  locate?(operation: string, argument: string, given: object, view: TensorData): number | undefined;
}
