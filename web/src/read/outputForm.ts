import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import type { GpuFloats } from "../tensor/gpuTensor.js";
import { elementCount, FLOATS, type FloatTensor, type PlacedFloats } from "../tensor/tensor.js";
import type { OptionReader } from "./options.js";

/** The output that the engine writes, in the call's layout. */
export interface OutputForm {
  readonly shape: readonly number[];
  readonly dtype: "float32" | "float16";
  /** Whether the output is a Float16Array. It is one if the query was one. */
  readonly half: boolean;
  /** The caller's tensor `into` as it was given, and where it lies. */
  readonly into: { readonly tensor: FloatTensor | GpuFloats; readonly place: PlacedFloats } | undefined;
}

/**
 * The form of an output of this shape. Its dtype is the dtype of `into`, or else of `like`.
 *
 * @throws OptionError if `into` is a plain array, which a call cannot write to.
 * @throws ShapeError if `into` has another shape.
 */
export function outputForm(options: OptionReader, shape: readonly number[], like: PlacedFloats): OutputForm {
  elementCount(options.operation, "output", shape);
  const into = options.placed("into", FLOATS);
  if (into?.isCopy) throw options.refuse("into", "hold its numbers in a typed array, which the call can write to");
  if (into && describe(into.shape) !== describe(shape))
    throw new ShapeError(
      `${options.operation}: into.shape must be that of the output, ${describe(shape)}, got ${describe(into.shape)}`,
    );
  return {
    shape,
    dtype: (into ?? like).dtype,
    half: like.half ?? false,
    into: into && { tensor: options.value("into") as FloatTensor | GpuFloats, place: into },
  };
}
