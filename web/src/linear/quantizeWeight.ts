import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import { CallArguments } from "../read/callArguments.js";
import { readOptions } from "../read/options.js";
import { numbersOf } from "../tensor/half.js";
import { WEIGHT_FLOATS, type FloatWeightLike } from "../tensor/tensor.js";
import { toInt8 } from "./int8.js";
import { WEIGHT_LAYOUTS, type QuantizedWeight, type WeightLayout } from "./weight.js";

/**
 * Quantises a weight of `linear` to int8 with one scale for each output, as an int8 cache quantises a row. scale = max|w|
 * / 127 over the weights of the output; q = w / scale, rounded to the nearest integer, ties to the even one. q · scale
 * differs from w by at most (1/2 + 2⁻¹⁷) · scale: the quotient is rounded too. The weight takes a quarter of the bytes of float32.
 *
 * @param weight - `[inputDim, outputDim]`; with `weightLayout: "out-in"` `[outputDim, inputDim]`. float32, float16 or
 *   bfloat16.
 * @returns A new weight of the same shape, and its `scales` `[outputDim]`. `linear` takes it with the same layout.
 * @throws ShapeError if the weight is not of rank 2.
 * @throws OptionError if a number is not finite.
 */
export function quantizeWeight(
  weight: FloatWeightLike,
  options: { readonly weightLayout?: WeightLayout | undefined } = {},
): QuantizedWeight {
  const call = new CallArguments("quantizeWeight");
  const layout = readOptions(call, options, ["weightLayout"]).oneOf("weightLayout", WEIGHT_LAYOUTS, "in-out");
  const given = call.tensor("weight", weight, WEIGHT_FLOATS);
  const { shape } = given;
  if (shape.length !== 2)
    throw new ShapeError(`quantizeWeight: weight.shape must have two extents, got ${describe(shape)}`);
  const floats = numbersOf(given.data, given.dtype) as Float32Array;
  return toInt8(call.operation, floats, shape as [number, number], layout);
}
