/** A value in double precision, and the largest error of float32 by the error model of web/docs/contract.md. */
export interface Bounded {
  readonly value: number;
  readonly error: number;
}

/** A matrix: row-major numbers and their extents. */
export interface Matrix {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
}

export interface ReferenceLayer {
  readonly numHeads: number;
  readonly numKvHeads?: number;
  /** [in, out] */
  readonly Wq: Matrix;
  readonly Wk: Matrix;
  readonly Wv: Matrix;
  readonly Wo?: Matrix;
  readonly bq?: Matrix;
  readonly bk?: Matrix;
  readonly bv?: Matrix;
  readonly bo?: Matrix;
}

const EPSILON = 2 ** -24;

// Looked up once: a test runner's sandbox is slow to find globals.
const { abs, exp, floor, max, sqrt } = Math;

/** A row of inputs, which have no error. */
export function exactRow(values: ArrayLike<number>): Bounded[] {
  return Array.from(values, (value) => ({ value, error: 0 }));
}

/** x W + b. The error of a sum of K products is at most (4 + K/4) ε times the sum of their sizes. */
function project(x: readonly Bounded[], W: Matrix, b: Matrix | undefined): Bounded[] {
  const [rows, columns] = W.shape as [number, number];
  const values = Float64Array.from({ length: columns }, (_, o) => b?.data[o] ?? 0);
  const magnitudes = values.map(abs);
  const errors = new Float64Array(columns);
  for (let i = 0; i < rows; ++i) {
    const { value, error } = x[i]!;
    for (let o = 0; o < columns; ++o) {
      const w = W.data[i * columns + o]!;
      values[o]! += value * w;
      magnitudes[o]! += abs(value * w);
      errors[o]! += error * abs(w);
    }
  }
  const rounding = (4 + rows / 4) * EPSILON;
  return Array.from(values, (value, o) => ({ value, error: errors[o]! + rounding * magnitudes[o]! }));
}

/** Attention of one query of one head: |Δo| ≤ (2 max|Δs| + 16 ε) Σ p |v| + Σ p |Δv|. */
function attend(q: readonly Bounded[], keys: readonly Bounded[][], values: readonly Bounded[][]): Bounded[] {
  const scale = 1 / sqrt(q.length);
  let scoreError = 0;
  const weights = keys.map((k) => {
    let [score, magnitude, error] = [0, 0, 0];
    q.forEach((a, d) => {
      const b = k[d]!;
      score += a.value * b.value;
      magnitude += abs(a.value * b.value);
      error += a.error * abs(b.value) + abs(a.value) * b.error + a.error * b.error;
    });
    scoreError = max(scoreError, scale * (error + (4 + q.length / 4) * EPSILON * magnitude));
    return exp(score * scale);
  });
  const total = weights.reduce((sum, w) => sum + w, 0);
  return Array.from({ length: values[0]!.length }, (_, d) => {
    let [value, magnitude, error] = [0, 0, 0];
    weights.forEach((w, j) => {
      const v = values[j]![d]!;
      value += (w / total) * v.value;
      magnitude += (w / total) * abs(v.value);
      error += (w / total) * v.error;
    });
    return { value, error: (2 * scoreError + 16 * EPSILON) * magnitude + error };
  });
}

/** The layer's output rows for one batch. Queries come from `x`, keys from `key`, values from `value`. */
export function referenceLayer(
  layer: ReferenceLayer,
  x: readonly Bounded[][],
  key: readonly Bounded[][] = x,
  value: readonly Bounded[][] = key,
): Bounded[][] {
  const { numHeads, numKvHeads = numHeads } = layer;
  const heads = (rows: readonly Bounded[][], W: Matrix, b: Matrix | undefined, count: number) => {
    const projected = rows.map((row) => project(row, W, b));
    const width = W.shape[1]! / count;
    return (h: number) => projected.map((row) => row.slice(h * width, (h + 1) * width));
  };
  const q = heads(x, layer.Wq, layer.bq, numHeads);
  const k = heads(key, layer.Wk, layer.bk, numKvHeads);
  const v = heads(value, layer.Wv, layer.bv, numKvHeads);
  const outputs = Array.from({ length: numHeads }, (_, h) => {
    const g = floor((h * numKvHeads) / numHeads);
    return q(h).map((row) => attend(row, k(g), v(g)));
  });
  return x.map((_, i) => {
    const concatenated = outputs.flatMap((head) => head[i]!);
    return layer.Wo ? project(concatenated, layer.Wo, layer.bo) : concatenated;
  });
}
