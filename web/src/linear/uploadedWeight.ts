import { DisposedError, OptionError } from "../base/errors.js";
import type { GpuData } from "../tensor/tensor.js";
import type { Context } from "../turn/context.js";
import { Disposing } from "../turn/disposable.js";
import type { WeightDtype, WeightLayout, WeightTensor } from "./weight.js";

/** A weight in an engine, in the order in which its kernels read it. */
export interface EngineWeight {
  /** The memory that it takes. */
  readonly gpu: GpuData;
  readonly bytes: number;
  release(): void;
}

/** The properties of a weight, in any memory. */
export interface WeightForm {
  readonly shape: readonly number[];
  readonly dtype: WeightDtype;
  readonly weightLayout: WeightLayout;
}

/**
 * A weight of `linear` on the GPU, in the order in which the kernels read it. `uploadWeight` makes one. It keeps its
 * instance alive, and it lives until `dispose()`, at the latest until its instance is disposed.
 */
export class UploadedWeight extends Disposing {
  /** As it was given. */
  readonly shape: readonly number[];
  readonly dtype: WeightDtype;
  /** The order of `shape`. `linear` takes it from here. */
  readonly weightLayout: WeightLayout;
  readonly #context: Context;
  #weight: EngineWeight | undefined;

  /** @internal */
  constructor(context: Context, { shape, dtype, weightLayout }: WeightForm, weight: EngineWeight) {
    super();
    this.#context = context;
    this.shape = Object.freeze([...shape]);
    this.dtype = dtype;
    this.weightLayout = weightLayout;
    this.#weight = weight;
    Object.freeze(this);
  }

  /** Bytes that it takes on the GPU. Rows and columns are padded to whole tiles. 0 after `dispose()`. */
  get bytes(): number {
    return this.#weight?.bytes ?? 0;
  }

  /** Frees its memory after the calls made so far have run. A second `dispose()` does nothing. */
  override dispose(): void {
    const weight = this.#weight;
    if (!weight) return;
    this.#weight = undefined;
    this.#context.release("weight.dispose", () => weight.release());
  }

  /** @internal Whether `value` is an UploadedWeight. */
  static is(value: unknown): value is UploadedWeight {
    return typeof value === "object" && value !== null && #weight in value;
  }

  /**
   * @internal The weight that `value` is, if it is an UploadedWeight.
   *
   * @param engine - The engine of the call.
   * @throws OptionError if it belongs to another instance; DisposedError.
   */
  static in(engine: object, operation: string, value: unknown): Uploaded | undefined {
    if (!this.is(value)) return undefined;
    if (value.#context.engine !== engine)
      throw new OptionError(`${operation}: weight must be a weight of this instance, got one of another`);
    const uploaded = value.#weight;
    if (!uploaded) throw new DisposedError(`${operation}: weight was disposed`);
    const { shape, dtype, weightLayout } = value;
    return { weight: { gpu: uploaded.gpu, shape, dtype } as WeightTensor, weightLayout, uploaded };
  }
}

/** An UploadedWeight as a call reads it. */
export interface Uploaded {
  /** Its shape and dtype. The numbers in its buffer are in another order. */
  readonly weight: WeightTensor;
  readonly weightLayout: WeightLayout;
  readonly uploaded: EngineWeight;
}
