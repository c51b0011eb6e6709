/** Prevents a division by zero for a vector of zeros. It is the constant of the model's graph. */
const SMALLEST_SQUARED_NORM = 1e-12;

/** The mean of the rows of x [rows, width]; zeros if there are no rows. */
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
