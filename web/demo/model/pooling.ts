/** Keeps the norm of an all-zero vector from dividing by zero; the graph's own constant. */
const SMALLEST_SQUARED_NORM = 1e-12;

/** The mean row of x [rows, width]; zeros if there is no row. */
export function meanRow(x: Float32Array, width: number): Float32Array {
  const mean = new Float32Array(width);
  const rows = Math.max(x.length / width, 1);
  for (let i = 0; i < x.length; i++) mean[i % width]! += x[i]!;
  return mean.map((sum) => sum / rows);
}

export function unit(x: Float32Array): Float32Array {
  const squared = x.reduce((sum, value) => sum + value * value, 0);
  const inverse = 1 / Math.sqrt(Math.max(squared, SMALLEST_SQUARED_NORM));
  return x.map((value) => value * inverse);
}
