import { OPTION_NAMES, type AttentionProblem } from "../attention/attentionProblem.js";
import { CallArguments } from "../read/callArguments.js";
import { readOptions } from "../read/options.js";
import type { Placement } from "../tensor/placement.js";
import { product } from "../tensor/product.js";
import { BYTES, type Dtype, type PlacedTensor } from "../tensor/tensor.js";
import { warmupProblem } from "./warmup.js";

/** A tensor without numbers: a plan needs its size only, which may be larger than any memory. */
export class Outline {
  readonly data: { readonly byteLength: number };

  constructor(
    readonly shape: readonly number[],
    readonly dtype: "float32" | "float16" | "bool",
  ) {
    this.data = { byteLength: BYTES[dtype] * product(shape) };
  }
}

/** Reads the arguments of a plan: outlines are tensors there. */
class OutlineArguments extends CallArguments {
  override placed<D extends Dtype = Dtype>(argument: string, value: unknown, dtypes?: readonly D[]): PlacedTensor<D> {
    return value instanceof Outline ? (value as unknown as PlacedTensor<D>) : super.placed(argument, value, dtypes);
  }
}

/** A call with inputs of this shape, without their numbers. */
export function outlinedProblem(placement: Placement, shape: unknown, options: unknown): AttentionProblem {
  const call = new OutlineArguments("plan", placement);
  const reader = readOptions(call, options, OPTION_NAMES);
  return warmupProblem(call, shape, reader, (_, extents, dtype) => new Outline(extents, dtype));
}
