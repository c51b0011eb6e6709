import { withDefaults } from "../read/withDefaults.js";
import { assertShape, elements, floats, lastExtent, assertNumber, type Floats } from "../tensor/plainTensor.js";

/** Options of layerNorm. */
export interface LayerNormOptions {
  /** Added to the variance. Default: 1e-5. */
  readonly epsilon?: number | undefined;
}

/** Gradients of a layer norm, with the shapes of what they belong to. */
export interface LayerNormGradients {
  readonly dInput: Floats;
  readonly dGain: Floats;
  readonly dBias: Floats;
}

/**
 * Layer norm of the last axis (Ba, Kiros & Hinton 2016, arXiv:1607.06450). Each row of N numbers becomes
 *
 *     y = gain · x̂ + bias      x̂ = (x − mean) / √(variance + epsilon)
 *
 * with the mean of the row and its variance (the mean of the squared distances from the mean).
 *
 * @param x - `[..., N]`
 * @param gain - `[N]`
 * @param bias - `[N]`; left out, it is 0.
 */
export function layerNorm(x: Floats, gain: Floats, bias?: Floats, options: LayerNormOptions = {}): Floats {
  const norm = checkedNorm("layerNorm", x, gain, options);
  const shift = bias && floats("layerNorm", "bias", bias);
  if (shift) assertShape("layerNorm", "bias", shift, [norm.width], "[x.shape.at(-1)],");
  const { data, shape, width, rows, scale, epsilon } = norm;
  const offsets = shift?.data ?? new Float32Array(width);
  const y = new Float32Array(data.length);
  for (let row = 0, at = 0; row < rows; row++, at += width) {
    const mean = meanOf(data, at, width);
    const inverse = 1 / Math.sqrt(varianceOf(data, at, width, mean) + epsilon);
    for (let i = 0; i < width; i++) y[at + i] = (data[at + i]! - mean) * inverse * scale[i]! + offsets[i]!;
  }
  return { data: y, shape };
}

/**
 * The gradients of layerNorm. It computes mean and variance anew, so nothing of the forward call is needed but x. With
 * g = dOutput · gain and means over a row:
 *
 *     dInput = (g − mean(g) − x̂·mean(g·x̂)) / √(variance + epsilon)
 *     dGain = Σ over rows of dOutput·x̂      dBias = Σ over rows of dOutput
 */
export function layerNormBackward(
  x: Floats,
  gain: Floats,
  dOutput: Floats,
  options: LayerNormOptions = {},
): LayerNormGradients {
  const { data, shape, width, rows, scale, epsilon } = checkedNorm("layerNormBackward", x, gain, options);
  const given = floats("layerNormBackward", "dOutput", dOutput);
  assertShape("layerNormBackward", "dOutput", given, shape, "the shape of x,");
  const upstream = given.data;
  const dInput = new Float32Array(data.length);
  const dGain = new Float64Array(width);
  const dBias = new Float64Array(width);
  for (let row = 0, at = 0; row < rows; row++, at += width) {
    const mean = meanOf(data, at, width);
    const inverse = 1 / Math.sqrt(varianceOf(data, at, width, mean) + epsilon);
    let sum = 0;
    let product = 0;
    for (let i = 0; i < width; i++) {
      const above = upstream[at + i]!;
      const normed = (data[at + i]! - mean) * inverse;
      const scaled = above * scale[i]!;
      sum += scaled;
      product += scaled * normed;
      dGain[i]! += above * normed;
      dBias[i]! += above;
    }
    sum /= width;
    product /= width;
    for (let i = 0; i < width; i++) {
      const normed = (data[at + i]! - mean) * inverse;
      dInput[at + i] = (upstream[at + i]! * scale[i]! - sum - normed * product) * inverse;
    }
  }
  const asWeights = (sums: Float64Array): Floats => ({ data: Float32Array.from(sums), shape: [width] });
  return { dInput: { data: dInput, shape }, dGain: asWeights(dGain), dBias: asWeights(dBias) };
}

function checkedNorm(operation: string, x: unknown, gain: unknown, options: LayerNormOptions) {
  const given = floats(operation, "x", x);
  const width = lastExtent(operation, "x", given);
  const scale = floats(operation, "gain", gain);
  assertShape(operation, "gain", scale, [width], "[x.shape.at(-1)],");
  const { epsilon } = withDefaults(operation, options, { epsilon: 1e-5 });
  assertNumber(operation, "epsilon", epsilon, "a number of 0 or more", (value) => value >= 0);
  return { ...given, width, rows: elements(given.shape) / width, scale: scale.data, epsilon };
}

// A row is added up in four sums: an addition waits for the last one to the same sum.

function meanOf(data: Float32Array, at: number, width: number): number {
  const end = at + width;
  let a = 0, b = 0, c = 0, d = 0; // oxfmt-ignore
  let i = at;
  for (; i + 3 < end; i += 4) {
    a += data[i]!;
    b += data[i + 1]!;
    c += data[i + 2]!;
    d += data[i + 3]!;
  }
  for (; i < end; i++) a += data[i]!;
  return (a + b + (c + d)) / width;
}

function varianceOf(data: Float32Array, at: number, width: number, mean: number): number {
  const end = at + width;
  let a = 0, b = 0, c = 0, d = 0; // oxfmt-ignore
  let i = at;
  for (; i + 3 < end; i += 4) {
    a += (data[i]! - mean) ** 2;
    b += (data[i + 1]! - mean) ** 2;
    c += (data[i + 2]! - mean) ** 2;
    d += (data[i + 3]! - mean) ** 2;
  }
  for (; i < end; i++) a += (data[i]! - mean) ** 2;
  return (a + b + (c + d)) / width;
}
