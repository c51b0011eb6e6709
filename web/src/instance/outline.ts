import { CallArguments } from "../call/callArguments.js";
import { BYTES, type Dtype, type PlacedTensor } from "../tensor/tensor.js";

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
  override placed<D extends Dtype = Dtype>(argument: string, value: unknown, dtypes?: readonly D[]): PlacedTensor<D> {
    return value instanceof Outline ? (value as unknown as PlacedTensor<D>) : super.placed(argument, value, dtypes);
  }
}
