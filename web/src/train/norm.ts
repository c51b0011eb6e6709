import { withDefaults } from "../read/withDefaults.js";
import { assertAllThere, assertNumber, assertShape, floats, lastExtent, type Floats } from "../tensor/plainTensor.js";
import { product } from "../tensor/product.js";

/** Options of layerNorm and rmsNorm. */
export interface NormOptions {
  /** Added to the variance, or to the mean square. A finite number of 0 or more. Default: 1e-5 of layerNorm, 1e-6 of rmsNorm. */
  readonly epsilon?: number | undefined;
}

/** Gradients of an RMS norm, with the shapes of what they belong to. */
export interface RmsNormGradients {
  /** `[..., N]` */
  readonly dInput: Floats;
  /** `[N]` */
  readonly dGain: Floats;
}

/** Gradients of a layer norm, with the shapes of what they belong to. */
export interface LayerNormGradients extends RmsNormGradients {
  /** `[N]` */
  readonly dBias: Floats;
}

/** How x̂ comes from a row x. */
interface Kind {
  readonly isCentred: boolean;
  readonly epsilon: number;
}

const LAYER: Kind = { isCentred: true, epsilon: 1e-5 };
const RMS: Kind = { isCentred: false, epsilon: 1e-6 };

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
export function layerNorm(x: Floats, gain: Floats, bias?: Floats, options: NormOptions = {}): Floats {
  const call = checked("layerNorm", LAYER, x, gain, options);
  if (bias === undefined) return normed(call);
  const shift = floats("layerNorm", "bias", bias);
  assertShape("layerNorm", "bias", shift, [call.width], "[x.shape.at(-1)],");
  assertAllThere("layerNorm", { x: call.data, gain: call.factors });
  return normed(call, shift.data);
}

/**
 * The gradients of layerNorm. It computes mean and variance anew, so nothing of the forward call is needed but x. With
 * g = dOutput · gain and means over a row:
 *
 *     dInput = (g − mean(g) − x̂·mean(g·x̂)) / √(variance + epsilon)
 *     dGain = Σ over rows of dOutput·x̂      dBias = Σ over rows of dOutput
 *
 * @param dOutput - In the shape of x.
 */
export function layerNormBackward(
  x: Floats,
  gain: Floats,
  dOutput: Floats,
  options: NormOptions = {},
): LayerNormGradients {
  return gradients("layerNormBackward", LAYER, x, gain, dOutput, options);
}

/**
 * RMS norm of the last axis (Zhang & Sennrich 2019, arXiv:1910.07467). Each row of N numbers becomes
 *
 *     y = gain · x̂      x̂ = x / √(mean(x²) + epsilon)
 *
 * @param x - `[..., N]`
 * @param gain - `[N]`
 */
export function rmsNorm(x: Floats, gain: Floats, options: NormOptions = {}): Floats {
  return normed(checked("rmsNorm", RMS, x, gain, options));
}

/**
 * The gradients of rmsNorm, from x alone as those of layerNorm. With g = dOutput · gain and means over a row:
 *
 *     dInput = (g − x̂·mean(g·x̂)) / √(mean(x²) + epsilon)      dGain = Σ over rows of dOutput·x̂
 *
 * @param dOutput - In the shape of x.
 */
export function rmsNormBackward(x: Floats, gain: Floats, dOutput: Floats, options: NormOptions = {}): RmsNormGradients {
  const { dInput, dGain } = gradients("rmsNormBackward", RMS, x, gain, dOutput, options);
  return { dInput, dGain };
}

function normed({ data, shape, width, rows, factors, kind }: Call, offsets?: Float32Array): Floats {
  const y = new Float32Array(data.length);
  const shift = offsets ?? new Float32Array(width);
  for (let row = 0, at = 0; row < rows; row++, at += width) {
    const mean = kind.isCentred ? meanOf(data, at, width) : 0;
    const inverse = 1 / Math.sqrt(meanSquare(data, at, width, mean) + kind.epsilon);
    for (let i = 0; i < width; i++) y[at + i] = (data[at + i]! - mean) * inverse * factors[i]! + shift[i]!;
  }
  return { data: y, shape };
}

function gradients(
  operation: string,
  usual: Kind,
  x: Floats,
  gain: Floats,
  dOutput: Floats,
  options: NormOptions,
): LayerNormGradients {
  const { data, shape, width, rows, factors, kind } = checked(operation, usual, x, gain, options);
  const given = floats(operation, "dOutput", dOutput);
  assertShape(operation, "dOutput", given, shape, "the shape of x,");
  const upstream = given.data;
  assertAllThere(operation, { x: data, gain: factors });
  const dInput = new Float32Array(data.length);
  const dGain = new Float64Array(width);
  const dBias = new Float64Array(width);
  for (let row = 0, at = 0; row < rows; row++, at += width) {
    const mean = kind.isCentred ? meanOf(data, at, width) : 0;
    const inverse = 1 / Math.sqrt(meanSquare(data, at, width, mean) + kind.epsilon);
    let sum = 0;
    let product = 0;
    for (let i = 0; i < width; i++) {
      const above = upstream[at + i]!;
      const hat = (data[at + i]! - mean) * inverse;
      const scaled = above * factors[i]!;
      sum += scaled;
      product += scaled * hat;
      dGain[i]! += above * hat;
      dBias[i]! += above;
    }
    sum = kind.isCentred ? sum / width : 0;
    product /= width;
    for (let i = 0; i < width; i++) {
      const hat = (data[at + i]! - mean) * inverse;
      dInput[at + i] = (upstream[at + i]! * factors[i]! - sum - hat * product) * inverse;
    }
  }
  const asWeights = (sums: Float64Array): Floats => ({ data: Float32Array.from(sums), shape: [width] });
  return { dInput: { data: dInput, shape }, dGain: asWeights(dGain), dBias: asWeights(dBias) };
}

type Call = ReturnType<typeof checked>;

function checked(operation: string, usual: Kind, x: unknown, gain: unknown, options: NormOptions) {
  const given = floats(operation, "x", x);
  const width = lastExtent(operation, "x", given);
  const factors = floats(operation, "gain", gain);
  assertShape(operation, "gain", factors, [width], "[x.shape.at(-1)],");
  const { epsilon } = withDefaults(operation, options, { epsilon: usual.epsilon });
  assertNumber(
    operation,
    "epsilon",
    epsilon,
    "a finite number of 0 or more",
    (value) => value >= 0 && value < Infinity,
  );
  assertAllThere(operation, { x: given.data, gain: factors.data });
  const kind = { ...usual, epsilon };
  return { ...given, width, rows: product(given.shape) / width, factors: factors.data, kind };
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

/** The mean of the squared distances from `centre`. */
function meanSquare(data: Float32Array, at: number, width: number, centre: number): number {
  const end = at + width;
  let a = 0, b = 0, c = 0, d = 0; // oxfmt-ignore
  let i = at;
  for (; i + 3 < end; i += 4) {
    a += (data[i]! - centre) ** 2;
    b += (data[i + 1]! - centre) ** 2;
    c += (data[i + 2]! - centre) ** 2;
    d += (data[i + 3]! - centre) ** 2;
  }
  for (; i < end; i++) a += (data[i]! - centre) ** 2;
  return (a + b + (c + d)) / width;
}
