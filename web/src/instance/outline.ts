import { CallArguments } from "../call/callArguments.js";
import { BYTES, type CheckedTensor, type Dtype } from "../tensor/tensor.js";

/** A tensor without numbers: a plan needs its size only, which may be larger than any memory. */
export class Outline {
  readonly data: { readonly byteLength: number };

  constructor(
    readonly shape: readonly number[],
    readonly dtype: "float32" | "float16" | "bool",
  ) {
    this.data = { byteLength: shape.reduce((size, extent) => size * extent, BYTES[dtype]) };
  }
}

/** Reads the arguments of a plan: outlines are tensors there. */
export class OutlineArguments extends CallArguments {
  override tensor<D extends Dtype = Dtype>(argument: string, value: unknown, dtypes?: readonly D[]): CheckedTensor<D> {
    return value instanceof Outline ? (value as unknown as CheckedTensor<D>) : super.tensor(argument, value, dtypes);
  }
}
