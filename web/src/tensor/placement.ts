import type { TensorData } from "./tensor.js";

/** Where the tensors of a call may lie, in addition to JavaScript memory. Each engine implements it. */
export interface Placement {
  /** Whether tensors may lie on the GPU. */
  readonly onGpu?: boolean;
  /**
   * The address of an array in the engine's memory; undefined if the array is elsewhere.
   *
   * @param given - The caller's array.
   * @param view - Our view of the same memory.
   * @throws DisposedError if the tensor of the array was disposed.
   */
  locate?(operation: string, argument: string, given: object, view: TensorData): number | undefined;
}
