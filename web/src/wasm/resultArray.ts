import { ARRAYS, BYTES, type Dtype, type TensorDataOf } from "../tensor/tensor.js";

/** The least size of a page of memory. */
const PAGE = 4096;

/** The engine's memory. */
export interface Memory {
  /** Copies from `address` into `target` and fills it. */
  readInto(address: number, target: TensorDataOf[Dtype]): void;
}

/** A result of a call: room in the engine's memory, and the caller's array. */
export class ResultArray<D extends Dtype> {
  readonly #memory: Memory;
  readonly #dtype: D;
  readonly #length: number;
  #array: TensorDataOf[D] | undefined;

  constructor(
    memory: Memory,
    readonly address: number,
    dtype: D,
    length: number,
  ) {
    this.#memory = memory;
    this.#dtype = dtype;
    this.#length = length;
  }

  /**
   * Makes the array, and touches each of its pages. The system gives a page when it is touched first. That can take
   * longer than to copy the numbers, so a call does it while other threads compute.
   */
  make(): void {
    try {
      const array = new ARRAYS[this.#dtype](this.#length);
      for (let at = 0; at < array.length; at += PAGE / BYTES[this.#dtype]) array[at] = 0;
      this.#array = array as TensorDataOf[D];
    } catch {
      // `collect` tries again, and its error becomes the call's
    }
  }

  /** The array, with the numbers from the engine's memory. */
  collect(): TensorDataOf[D] {
    this.#array ??= this.#new();
    this.#memory.readInto(this.address, this.#array);
    return this.#array;
  }

  #new(): TensorDataOf[D] {
    return new ARRAYS[this.#dtype](this.#length) as TensorDataOf[D];
  }
}
