// Some rows of the result, computed by definition in double precision, and their tolerance for a float32 engine: the
// error model of the tests.

import { visibleKeys } from "./cases.mjs";

const EPSILON = 2 ** -24;
/** Other engines promise no accuracy, but they must compute the same attention. */
const PEER_TOLERANCE = 1e-3;

/** The rows to check: the corners, and some between. */
export function sampleRows({ batch, heads, queries, lengths }) {
  const rows = [];
  for (let k = 0; k < 16; k++) {
    const part = k / 15;
    const b = Math.round(part * (batch - 1));
    const h = Math.round(((part * 7) % 1 || part) * (heads - 1));
    const last = (lengths?.[b] ?? queries) - 1;
    rows.push({ b, h, i: Math.round(((part * 3) % 1 || part) * last) });
  }
  return rows;
}

/**
 * @returns a function of { b, h, i }: the `values` of that row, the `tolerance` of each, and a larger tolerance for
 *   peers
 */
export function referenceOf(problem) {
  return problem.shape.layer ? layerRows(problem) : (row) => attentionRow(problem, row);
}

function attentionRow({ shape, query, key, value }, { b, h, i }) {
  const { heads, kvHeads, queries, keys, dim, cache } = shape;
  const [first, last] = visibleKeys(shape, b, i);
  const q = query.subarray(((b * heads + h) * queries + i) * dim).subarray(0, dim);
  const group = b * kvHeads + Math.floor((h * kvHeads) / heads);
  const row = (data, j) => data.subarray((group * keys + j) * dim, (group * keys + j + 1) * dim);
  const halfStep = (x) => (cache === "int8" ? x.reduce((m, v) => Math.max(m, Math.abs(v)), 0) / 254 : 0);
  const lengthOfQ = q.reduce((sum, x) => sum + Math.abs(x), 0);
  const scale = 1 / Math.sqrt(dim);

  const scores = [];
  let scoreError = 0;
  for (let j = first; j <= last; j++) {
    const k = row(key, j);
    let dot = 0;
    let magnitude = 0;
    for (let d = 0; d < dim; d++) {
      dot += q[d] * k[d];
      magnitude += Math.abs(q[d] * k[d]);
    }
    scores.push(dot * scale);
    scoreError = Math.max(scoreError, (EPSILON * (4 + dim / 4) * magnitude + halfStep(k) * lengthOfQ) * scale);
  }
  const largest = scores.reduce((a, b) => Math.max(a, b));
  const weights = scores.map((s) => Math.exp(s - largest));
  const sum = weights.reduce((a, b) => a + b);

  const values = new Float64Array(dim);
  const magnitudes = new Float64Array(dim);
  let valueError = 0;
  for (let j = first; j <= last; j++) {
    const p = weights[j - first] / sum;
    const v = row(value, j);
    valueError += p * halfStep(v);
    for (let d = 0; d < dim; d++) {
      values[d] += p * v[d];
      magnitudes[d] += p * Math.abs(v[d]);
    }
  }
  const tolerance = magnitudes.map((m) => (2 * scoreError + 16 * EPSILON) * m + valueError * (1 + 2 * scoreError));
  return { values, tolerance, peerTolerance: magnitudes.map((m) => m * PEER_TOLERANCE) };
}

/**
 * The rows of a layer. Every row needs all keys and values, so these are projected once. The tests check layers with a
 * smaller tolerance.
 */
function layerRows({ shape, input, weights }) {
  const { heads, queries, dim } = shape;
  const width = heads * dim;
  const project = (x, W, bias) => {
    const y = Float64Array.from({ length: (x.length / width) * width }, (_, k) => bias[k % width]);
    for (let row = 0; row < x.length; row += width)
      for (let k = 0; k < width; k++) {
        const factor = x[row + k];
        for (let column = 0; column < width; column++) y[row + column] += factor * W[k * width + column];
      }
    return y;
  };
  const K = project(input, weights.Wk, weights.bk);
  const V = project(input, weights.Wv, weights.bv);
  return ({ i }) => {
    const q = project(input.subarray(i * width, (i + 1) * width), weights.Wq, weights.bq);
    const mixed = new Float64Array(width);
    for (let h = 0; h < heads; h++) {
      const scores = Array.from({ length: queries }, (_, j) => {
        let dot = 0;
        for (let d = h * dim; d < (h + 1) * dim; d++) dot += q[d] * K[j * width + d];
        return Math.exp(dot / Math.sqrt(dim));
      });
      const sum = scores.reduce((a, b) => a + b);
      for (let j = 0; j < queries; j++)
        for (let d = h * dim; d < (h + 1) * dim; d++) mixed[d] += (scores[j] / sum) * V[j * width + d];
    }
    const values = project(mixed, weights.Wo, weights.bo);
    const size = Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / width);
    return { values, tolerance: values.map(() => 2e-5 * size), peerTolerance: values.map(() => PEER_TOLERANCE * size) };
  };
}

/** Throws if a row of a contender differs from the reference. `read(row)` gives its numbers. */
export function checkRows(rows, read, isPeer) {
  for (const { row, expected } of rows) {
    const actual = read(row);
    const tolerance = isPeer ? expected.peerTolerance : expected.tolerance;
    for (let d = 0; d < expected.values.length; d++)
      if (!(Math.abs(actual[d] - expected.values[d]) <= tolerance[d]))
        throw new Error(
          `wrong result: batch ${row.b}, head ${row.h}, row ${row.i}, feature ${d}: ` +
            `${actual[d]} instead of ${expected.values[d]} ± ${tolerance[d]}`,
        );
  }
}
