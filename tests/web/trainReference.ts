// The functions of headwise/train in double precision, over plain arrays, and central differences.

import { erfc } from "./erfc.js";

/** The activations as their papers write them. */
export const activations = {
  gelu: (x: number) => (x / 2) * erfc(-x / Math.SQRT2),
  geluTanh: (x: number) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  quickGelu: (x: number) => x / (1 + Math.exp(-1.702 * x)),
  silu: (x: number) => x / (1 + Math.exp(-x)),
  relu: (x: number) => Math.max(x, 0),
  tanh: Math.tanh,
};

export function rmsNorm(x: readonly number[], gain: readonly number[], epsilon: number): number[] {
  const width = gain.length;
  return x.map((value, n) => {
    const start = n - (n % width);
    const squares = x.slice(start, start + width).reduce((sum, each) => sum + each * each, 0);
    return (value / Math.sqrt(squares / width + epsilon)) * gain[n % width]!;
  });
}

export function layerNorm(
  x: readonly number[],
  gain: readonly number[],
  bias: readonly number[],
  epsilon: number,
): number[] {
  const width = gain.length;
  return x.map((value, n) => {
    const start = n - (n % width);
    const row = x.slice(start, start + width);
    const mean = row.reduce((sum, each) => sum + each, 0) / width;
    const variance = row.reduce((sum, each) => sum + (each - mean) ** 2, 0) / width;
    return ((value - mean) / Math.sqrt(variance + epsilon)) * gain[n % width]! + bias[n % width]!;
  });
}

/** The mean over the rows whose target is not −1. */
export function crossEntropy(logits: readonly number[], targets: readonly number[]): number {
  const width = logits.length / targets.length;
  const losses = targets.flatMap((target, row) => {
    if (target < 0) return [];
    const z = logits.slice(row * width, (row + 1) * width);
    const largest = Math.max(...z);
    return [Math.log(z.reduce((sum, each) => sum + Math.exp(each - largest), 0)) + largest - z[target]!];
  });
  return losses.reduce((sum, each) => sum + each, 0) / losses.length;
}

/** Σ aₙ·bₙ */
export const dot = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((sum, each, n) => sum + each * b[n]!, 0);

/** The gradient of f at x by central differences: the error is about h²·f‴/6 + 10⁻¹⁶·f/h, at h = 10⁻⁵ below 10⁻⁹. */
export function differencesOf(f: (x: number[]) => number, x: readonly number[], h = 1e-5): number[] {
  return x.map((value, n) => {
    const at = (shifted: number) => f(x.map((each, m) => (m === n ? shifted : each)));
    return (at(value + h) - at(value - h)) / (2 * h);
  });
}
