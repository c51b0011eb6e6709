import { gelu as geluByTanh, relu } from "../train/activation.js";
import type { Floats } from "../tensor/plainTensor.js";

/** A function of the elements of a tensor. */
export type Activation = (x: Floats) => Floats;

/** x·σ(x), with the logistic function σ (Elfwing et al. 2017, arXiv:1702.03118). */
export const silu: Activation = (x) => each(x, (value) => value / (1 + Math.exp(-value)));

/** x·Φ(x), with the normal distribution Φ (Hendrycks & Gimpel 2016, arXiv:1606.08415). */
export const gelu: Activation = (x) => each(x, (value) => value * normalDistribution(value));

/** An approximation of gelu: x·σ(1.702·x), from the same paper. */
const quickGelu: Activation = (x) => each(x, (value) => value / (1 + Math.exp(-1.702 * value)));

/** tanh, element by element. */
export const tanh: Activation = (x) => each(x, Math.tanh);

function each({ data, shape }: Floats, f: (value: number) => number): Floats {
  const y = new Float32Array(data.length);
  for (let i = 0; i < y.length; i++) y[i] = f(data[i]!);
  return { data: y, shape };
}

/** The activations by the names that config.json has for them. */
export const ACTIVATIONS = {
  gelu,
  gelu_new: geluByTanh,
  gelu_pytorch_tanh: geluByTanh,
  gelu_fast: geluByTanh,
  quick_gelu: quickGelu,
  relu,
  silu,
  swish: silu,
} satisfies Readonly<Record<string, Activation>>;

export type ActivationName = keyof typeof ACTIVATIONS;

export const ACTIVATION_NAMES = Object.keys(ACTIVATIONS) as readonly ActivationName[];

/** Beyond it 1 − Φ is below 10⁻¹⁵. */
const FAR = 8;

/** Places of the table in a unit. */
const DENSITY = 64;

/** Φ at multiples of 1/DENSITY from −FAR to FAR. */
let table: Float64Array | undefined;

/**
 * Φ(x) within 10⁻¹⁰: the Taylor series around the nearest place of a table. With the density φ = Φ′, φ′ = −c·φ, so
 *
 *     Φ(c + d) = Φ(c) + φ(c)·(d − c·d²/2 + (c² − 1)·d³/6 − …)
 *
 * The next term is below φ·|3c − c³|·d⁴/24, and |d| is at most 1/128.
 */
function normalDistribution(x: number): number {
  if (!(Math.abs(x) < FAR)) return x > 0 ? 1 : x < 0 ? 0 : x;
  table ??= Float64Array.from({ length: 2 * FAR * DENSITY + 1 }, (_, n) => distributionBySeries(n / DENSITY - FAR));
  const place = Math.round(x * DENSITY);
  const c = place / DENSITY;
  const d = x - c;
  return table[place + FAR * DENSITY]! + density(c) * d * (1 - (d / 2) * (c - ((c * c - 1) * d) / 3));
}

const density = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

/** Φ(x) = 1/2 + φ(x)·(x + x³/3 + x⁵/(3·5) + …), whose terms have one sign (Marsaglia 2004). */
function distributionBySeries(x: number): number {
  let sum = 0;
  for (let term = x, n = 1; sum + term !== sum; n += 2, term *= (x * x) / n) sum += term;
  return 0.5 + density(x) * sum;
}
