import { DisposedError } from "../base/errors.js";
import type { Dtype, TensorDataOf, TypedTensor } from "../tensor/tensor.js";
import { Disposing } from "../turn/disposable.js";

/** Options of `allocate`. */
export interface AllocateOptions {
  /**
   * Whether the tensor begins with zeros. false leaves what was in the memory before, for a tensor that is written as a
   * whole: then nothing is written twice. Default true.
   */
  readonly zeros?: boolean | undefined;
}

/** A tensor that is to be made. */
export interface NewTensor<D extends Dtype = Dtype> {
  readonly shape: readonly number[];
  readonly dtype: D;
  /** Whether it must begin with zeros. Otherwise the engine may leave what was in the memory before. */
  readonly zeros: boolean;
}

/**
 * A tensor whose memory belongs to the engine. Calls read and write it in place, without a copy. `allocate` makes one.
 *
 * It lives until `dispose()`, at the latest until its instance is disposed. `data` is an array on the engine's memory:
 * fill it between calls, and copy what you need for longer. Another instance copies it like any other array.
 */
export class EngineTensor<D extends Dtype = Dtype> extends Disposing implements TypedTensor<D> {
  readonly shape: readonly number[];
  readonly dtype: D;
  #data: TensorDataOf[D];
  readonly #length: number;
  readonly #view: () => TensorDataOf[D];
  readonly #release: (views: readonly TensorDataOf[D][]) => void;
  /** All arrays that `data` has returned. */
  readonly #views: TensorDataOf[D][];
  #disposed = false;

  /** @internal */
  constructor(
    view: () => TensorDataOf[D],
    shape: readonly number[],
    dtype: D,
    release: (views: readonly TensorDataOf[D][]) => void,
  ) {
    super();
    this.#data = view();
    this.#views = [this.#data];
    this.#length = this.#data.length;
    this.#view = view;
    this.shape = shape;
    this.dtype = dtype;
    this.#release = release;
  }

  /**
   * The numbers, in the order of `shape`. With `headwise/inline` read this property again after every call: memory is
   * not shared there, and its old arrays are detached when it grows.
   *
   * @throws DisposedError after `dispose()` of the tensor.
   */
  get data(): TensorDataOf[D] {
    if (this.#disposed) throw new DisposedError("tensor: it was disposed");
    if (this.#data.length !== this.#length) this.#views.push((this.#data = this.#view()));
    return this.#data;
  }

  /**
   * Gives the memory back after the calls made so far have run. Later calls that get the tensor throw. A second
   * `dispose()` does nothing.
   */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#release(this.#views);
  }
}
