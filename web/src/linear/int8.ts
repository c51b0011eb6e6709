import { OptionError } from "../base/errors.js";
import type { QuantizedWeight, WeightLayout } from "./weight.js";

/** 127 times this number is finite in float32. 127 times the float32 nearest to the largest / 127 is not. */
const LARGEST_SCALE = Math.fround(Math.fround(3.4028234663852886e38 / 127) * (1 - 2 ** -23));

/** In float32 a sum with this number has no bits for a fraction: it is rounded to an integer, ties to the even one. */
const NO_FRACTION = 1.5 * 2 ** 23;

/**
 * The int8 weight nearest to floats, as `quantizeWeight` describes it.
 *
 * @param shape - Two extents.
 * @throws OptionError if a number is not finite.
 */
export function toInt8(
  operation: string,
  floats: Float32Array,
  shape: readonly [number, number],
  layout: WeightLayout,
): QuantizedWeight {
  const [rows, columns] = shape;
  const output = layout === "in-out" ? (_: number, column: number) => column : (row: number) => row;

  const scales = new Float32Array(layout === "in-out" ? columns : rows); // first the largest magnitudes
  for (let row = 0, n = 0; row < rows; ++row)
    for (let column = 0; column < columns; ++column, ++n) {
      const value = floats[n]!;
      if (!Number.isFinite(value))
        throw new OptionError(`${operation}: weight must hold finite numbers, got ${value} at [${row}, ${column}]`);
      const o = output(row, column);
      scales[o] = Math.max(scales[o]!, Math.abs(value));
    }
  for (let o = 0; o < scales.length; ++o) scales[o] = scaleOf(scales[o]!);

  const data = new Int8Array(floats.length);
  for (let row = 0, n = 0; row < rows; ++row)
    for (let column = 0; column < columns; ++column, ++n) data[n] = quantized(floats[n]!, scales[output(row, column)]!);
  return { data, shape: [rows, columns], dtype: "int8", scales };
}

/**
 * Rounds the weights of one output to int8 in the same way, and returns their scale. If a number is not finite, the scale is
 * NaN and the integers are 0.
 */
export function rowToInt8(floats: Float32Array, to: Int8Array): number {
  let largest = 0;
  for (const value of floats) largest = Math.max(largest, Math.abs(value)); // NaN stays NaN
  const scale = Number.isFinite(largest) ? scaleOf(largest) : NaN;
  for (let i = 0; i < floats.length; ++i) to[i] = quantized(floats[i]!, scale); // NaN is stored as 0
  return scale;
}

/** The scale of an output whose largest magnitude this is. */
function scaleOf(largest: number): number {
  return Math.min(Math.fround(largest / 127), LARGEST_SCALE);
}

/** A subnormal scale may have been rounded down far, even to 0. Quotients then exceed 127. */
function quantized(value: number, scale: number): number {
  if (scale === 0) return 0;
  const rounded = Math.fround(Math.fround(Math.fround(value / scale) + NO_FRACTION) - NO_FRACTION);
  return Math.min(Math.max(rounded, -127), 127);
}
