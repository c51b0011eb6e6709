import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { assertIntact, assertIntactNow } from "../base/intact.js";
import { placeOf, viewOf } from "../base/typedArray.js";
import type { Placement } from "../tensor/placement.js";
import { ARRAYS, type Dtype, type TensorData } from "../tensor/tensor.js";

/** Our own views on the arrays of one call. They have the arrays' lengths at the time of the call, and no accessors. */
export class Views {
  /** The arrays of the caller. An array that is given twice has one view. A call has few: lists cost less than maps. */
  readonly #given: object[] = [];
  /** Our view of each of them. */
  readonly #views: TensorData[] = [];
  /** The views whose memory is checked again when it is the call's turn. */
  readonly #watched: { readonly argument: string; readonly view: TensorData }[] = [];

  constructor(
    readonly operation: string,
    readonly placement: Placement,
  ) {}

  /** The view of a typed array whose class holds this dtype. */
  of(argument: string, array: object, dtype: Dtype): TensorData {
    const known = this.#given.indexOf(array);
    if (known >= 0) return this.#views[known]!;
    assertIntactNow(this.operation, argument, array);
    const { buffer, byteOffset, length } = placeOf(array);
    const view = new ARRAYS[dtype](buffer as ArrayBuffer, byteOffset, length);
    this.#given.push(array);
    this.#views.push(view);
    return view;
  }

  /** The numbers of a typed array of any class. */
  elements(argument: string, array: object): ArrayLike<number | bigint> {
    assertIntactNow(this.operation, argument, array);
    const view = viewOf(array);
    if (!view) throw new OptionError(`${this.operation}: ${argument} cannot be ${describe(array)}`);
    this.placement.locate?.(this.operation, argument, array, view as TensorData); // throws if the tensor was disposed
    return view;
  }

  /** The caller's array of a view. Use only its identity. */
  given(view: TensorData): object | undefined {
    return this.#given[this.#views.indexOf(view)];
  }

  /** Makes `assertIntact` check this view. */
  watch(argument: string, view: TensorData): void {
    this.#watched.push({ argument, view });
  }

  /**
   * Throws if the memory of a watched array has changed since the call was made.
   *
   * @throws OptionError with code `"DETACHED_INPUT"`.
   */
  assertIntact(): void {
    for (const { argument, view } of this.#watched) assertIntact(this.operation, argument, view);
  }
}
