import { Disposing } from "../call/disposable.js";
import { DisposedError } from "../errors/errors.js";
import type { Dtype, TensorDataOf, TypedTensor } from "../tensor/tensor.js";

/**
 * A tensor inside the engine: calls read and write it in place, without a copy.
 *
 * It lives until `dispose()`, at the latest until the instance that made it is disposed. `data` is a window on the
 * engine's shared memory: fill it between calls, copy what must outlive it, and do not pass it to another instance
 * expecting it to be free of charge (there it is copied like any array).
 */
export class EngineTensor<D extends Dtype = Dtype> extends Disposing implements TypedTensor<D> {
  readonly shape: readonly number[];
  readonly dtype: D;
  #data: TensorDataOf[D];
  readonly #length: number;
  readonly #view: () => TensorDataOf[D];
  readonly #release: (views: readonly TensorDataOf[D][]) => void;
  /** Every array that `data` has been. */
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
   * Read it anew after every call with `headwise/inline`: its memory is not shared, and arrays on it end when it grows.
   *
   * @throws DisposedError after `dispose()`.
   */
  get data(): TensorDataOf[D] {
    if (this.#disposed) throw new DisposedError("tensor: it was disposed");
    if (this.#data.length !== this.#length) this.#views.push((this.#data = this.#view()));
    return this.#data;
  }

  /** Gives the memory back once the calls made so far have run. Later calls refuse it. A second call does nothing. */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#release(this.#views);
  }
}
