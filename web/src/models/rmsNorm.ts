import type { Floats } from "../tensor/plainTensor.js";

/**
 * RMS norm of the last axis (Zhang & Sennrich 2019, arXiv:1910.07467): y = gain · x / √(mean(x²) + epsilon).
 *
 * @param x - `[…, N]`
 * @param gain - `[N]`
 */
export function rmsNorm({ data, shape }: Floats, gain: Float32Array, epsilon: number): Floats {
  const width = gain.length;
  const y = new Float32Array(data.length);
  for (let at = 0; at < data.length; at += width) {
    let squares = 0;
    for (let i = 0; i < width; i++) squares += data[at + i]! * data[at + i]!;
    const inverse = 1 / Math.sqrt(squares / width + epsilon);
    for (let i = 0; i < width; i++) y[at + i] = data[at + i]! * inverse * gain[i]!;
  }
  return { data: y, shape };
}
