import { CallArguments } from "../call/callArguments.js";
import { readOptions } from "../call/options.js";
import { OptionError, ShapeError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import { fromHalf } from "../tensor/half.js";
import { FLOATS, type FloatTensorLike } from "../tensor/tensor.js";
import { WEIGHT_LAYOUTS, type QuantizedWeight, type WeightLayout } from "./weight.js";

/** 127 times this number is finite in float32. 127 times the float32 nearest to the largest / 127 is not. */
const LARGEST_SCALE = Math.fround(Math.fround(3.4028234663852886e38 / 127) * (1 - 2 ** -23));

/** In float32 a sum with this number has no bits for a fraction: it is rounded to an integer, ties to the even one. */
const NO_FRACTION = 1.5 * 2 ** 23;

/**
 * Quantises a weight of `linear` to int8 with one scale for each output, as an int8 cache quantises a row. scale = max|w|
 * / 127 over the weights of the output; q = w / scale, rounded to the nearest integer, ties to the even one. q · scale
 * differs from w by at most scale / 2. The weight takes a quarter of the bytes of float32.
 *
 * @param weight - `[inputDim, outputDim]`; with `weightLayout: "out-in"` `[outputDim, inputDim]`. float32 or float16.
 * @returns A new weight of the same shape, and its `scales` `[outputDim]`. `linear` takes it with the same layout.
 * @throws ShapeError if the weight is not of rank 2.
 * @throws OptionError if a number is not finite.
 */
export function quantizeWeight(
  weight: FloatTensorLike,
  options: { readonly weightLayout?: WeightLayout } = {},
): QuantizedWeight {
  const call = new CallArguments("quantizeWeight");
  const layout = readOptions(call, options, ["weightLayout"]).oneOf("weightLayout", WEIGHT_LAYOUTS, "in-out");
  const given = call.tensor("weight", weight, FLOATS);
  const { shape } = given;
  if (shape.length !== 2)
    throw new ShapeError(`quantizeWeight: weight.shape must have two extents, got ${describe(shape)}`);
  const floats = given.dtype === "float32" ? given.data : fromHalf(given.data as Uint16Array);
  const [rows, columns] = shape as [number, number];
  const output = layout === "in-out" ? (_: number, column: number) => column : (row: number) => row;

  const scales = new Float32Array(layout === "in-out" ? columns : rows); // first the largest magnitudes
  for (let row = 0, n = 0; row < rows; ++row)
    for (let column = 0; column < columns; ++column, ++n) {
      const value = floats[n]!;
      if (!Number.isFinite(value))
        throw new OptionError(`quantizeWeight: weight must hold finite numbers, got ${value} at [${row}, ${column}]`);
      const o = output(row, column);
      scales[o] = Math.max(scales[o]!, Math.abs(value));
    }
  for (let o = 0; o < scales.length; ++o) scales[o] = Math.min(Math.fround(scales[o]! / 127), LARGEST_SCALE);

  const data = new Int8Array(floats.length);
  for (let row = 0, n = 0; row < rows; ++row)
    for (let column = 0; column < columns; ++column, ++n) data[n] = quantized(floats[n]!, scales[output(row, column)]!);
  return { data, shape: [rows, columns], dtype: "int8", scales };
}

/** A subnormal scale may have been rounded down far, even to 0. Quotients then exceed 127. */
function quantized(value: number, scale: number): number {
  if (scale === 0) return 0;
  const rounded = Math.fround(Math.fround(Math.fround(value / scale) + NO_FRACTION) - NO_FRACTION);
  return Math.min(Math.max(rounded, -127), 127);
}
