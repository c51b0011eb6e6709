export interface LayerNorm {
  readonly scale: Float32Array;
  readonly bias: Float32Array;
}

/** As in the model's graph: it is added to the variance, inside the square root. */
const EPSILON = 1e-6;

/** Normalises every row to mean 0 and variance 1, then applies scale and bias. x is [rows, scale.length]. */
export function layerNorm(x: Float32Array, { scale, bias }: LayerNorm): Float32Array {
  const width = scale.length;
  const y = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    const row = x.subarray(start, start + width);
    const mean = row.reduce((sum, value) => sum + value, 0) / width;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    const inverse = 1 / Math.sqrt(variance + EPSILON);
    for (let i = 0; i < width; i++) y[start + i] = (row[i]! - mean) * inverse * scale[i]! + bias[i]!;
  }
  return y;
}
