/** A matrix of float64 with few columns, in row-major order. */
export interface TallMatrix {
  readonly data: Float64Array;
  readonly columns: number;
}

/** aᵀ·b of two matrices with the same number of rows. */
export function transposedProduct(a: TallMatrix, b: TallMatrix): TallMatrix {
  const data = new Float64Array(a.columns * b.columns);
  for (let row = 0; row * a.columns < a.data.length; row++)
    for (let i = 0; i < a.columns; i++) {
      const factor = a.data[row * a.columns + i]!;
      for (let j = 0; j < b.columns; j++) data[i * b.columns + j]! += factor * b.data[row * b.columns + j]!;
    }
  return { data, columns: b.columns };
}

/** The inner product of two matrices of the same shape: the sum of the products of their numbers. */
export function innerProduct(a: TallMatrix, b: TallMatrix): number {
  return a.data.reduce((sum, value, n) => sum + value * b.data[n]!, 0);
}
