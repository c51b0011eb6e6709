// Some rows of the result, computed by definition in double precision, and their tolerance for a float32 engine: the
// error model of the tests.

import { seesOf, visibleRanges } from "./cases.mjs";
import { gradientRows } from "./gradients.mjs";

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
  if (problem.shape.linear) return linearRow(problem);
  if (problem.shape.gradient) return gradientRows(problem);
  return problem.shape.layer ? layerRows(problem) : (row) => attentionRow(problem, row);
}

function attentionRow({ shape, query, key, value, slopes, formula }, { b, h, i }) {
  const { heads, kvHeads, queries, keys, dim, cache, softcap } = shape;
  const capped = (s) => (softcap ? softcap * Math.tanh(s / softcap) : s);
  const changed = (s, j) => formula?.value?.(s, formula.parameters, h, i, j) ?? s;
  const q = query.subarray(((b * heads + h) * queries + i) * dim).subarray(0, dim);
  const group = b * kvHeads + Math.floor((h * kvHeads) / heads);
  const row = (data, j) => data.subarray((group * keys + j) * dim, (group * keys + j + 1) * dim);
  const halfStep = (x) => (cache === "int8" ? x.reduce((m, v) => Math.max(m, Math.abs(v)), 0) / 254 : 0);
  const lengthOfQ = q.reduce((sum, x) => sum + Math.abs(x), 0);
  const scale = 1 / Math.sqrt(dim);

  const visible = visibleKeys(shape, b, i);
  const scores = [];
  let scoreError = 0;
  for (const j of visible) {
    const k = row(key, j);
    const lowered = slopes ? slopes[h] * Math.abs(i + keys - queries - j) : 0;
    let dot = 0;
    let magnitude = 0;
    for (let d = 0; d < dim; d++) {
      dot += q[d] * k[d];
      magnitude += Math.abs(q[d] * k[d]);
    }
    scores.push(changed(capped(dot * scale) - lowered, j));
    const ofProduct = (EPSILON * (4 + dim / 4) * magnitude + halfStep(k) * lengthOfQ) * scale;
    const ofFormula = 8 * EPSILON * (Math.abs(scores.at(-1)) + Math.abs(dot * scale)); // 4 operations, tanh: 4 ulp
    scoreError = Math.max(scoreError, ofProduct + 2 * EPSILON * lowered + (formula || softcap ? ofFormula : 0));
  }
  const largest = scores.reduce((a, b) => Math.max(a, b));
  const weights = scores.map((s) => Math.exp(s - largest));
  const sum = weights.reduce((a, b) => a + b);

  const values = new Float64Array(dim);
  const magnitudes = new Float64Array(dim);
  let valueError = 0;
  for (const [n, j] of visible.entries()) {
    const p = weights[n] / sum;
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

/** Indices of the keys that a query of a sequence sees. */
function visibleKeys(shape, b, i) {
  const ranges = visibleRanges(shape, b, i);
  const keys = ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, n) => first + n));
  const sees = seesOf(shape);
  return sees ? keys.filter((j) => sees(b, i, j)) : keys;
}

/**
 * The rows of a layer. Every row needs all keys and values, so these are projected once. The tests check layers with a
 * smaller tolerance.
 */
function layerRows({ shape, input, weights, past, table, cos, sin }) {
  const { heads, kvHeads, queries, keys, dim } = shape;
  const width = heads * dim;
  const before = keys - queries; // tokens in the cache
  const x = table ? Float64Array.from(input, (number, n) => number + table[before * width + n]) : input;
  const turned = (y, count, first) => (cos ? rotated(y, { count, dim, first, cos, sin }) : y);
  const K = turned(projected(x, weights.Wk, weights.bk), kvHeads, before);
  const V = projected(x, weights.Wv, weights.bv);
  const row = (held, computed, g, j) =>
    j < before
      ? held.subarray((g * before + j) * dim, (g * before + j + 1) * dim)
      : computed.subarray(((j - before) * kvHeads + g) * dim, ((j - before) * kvHeads + g + 1) * dim);

  return ({ i }) => {
    const q = turned(projected(x.subarray(i * width, (i + 1) * width), weights.Wq, weights.bq), heads, before + i);
    const mixed = new Float64Array(width);
    for (let h = 0; h < heads; h++) {
      const g = Math.floor((h * kvHeads) / heads);
      const scores = Array.from({ length: keys }, (_, j) => {
        const k = row(past?.key, K, g, j);
        let dot = 0;
        for (let d = 0; d < dim; d++) dot += q[h * dim + d] * k[d];
        return Math.exp(dot / Math.sqrt(dim));
      });
      const sum = scores.reduce((a, b) => a + b);
      for (let j = 0; j < keys; j++) {
        const v = row(past?.value, V, g, j);
        for (let d = 0; d < dim; d++) mixed[h * dim + d] += (scores[j] / sum) * v[d];
      }
    }
    const values = projected(mixed, weights.Wo, weights.bo);
    const size = Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / width);
    return { values, tolerance: values.map(() => 2e-5 * size), peerTolerance: values.map(() => PEER_TOLERANCE * size) };
  };
}

/** The only row of a linear map. */
function linearRow({ shape: { linear }, input, weight: { data, scales } }) {
  const { inputs, outputs, layout } = linear;
  const [inStride, outStride] = layout === "in-out" ? [outputs, 1] : [1, inputs];
  const values = new Float64Array(outputs);
  const magnitudes = new Float64Array(outputs);
  for (let o = 0; o < outputs; o++)
    for (let i = 0; i < inputs; i++) {
      const product = input[i] * data[i * inStride + o * outStride] * (scales?.[o] ?? 1);
      values[o] += product;
      magnitudes[o] += Math.abs(product);
    }
  const expected = {
    values,
    tolerance: magnitudes.map((m) => EPSILON * (inputs + 3) * m),
    peerTolerance: magnitudes.map((m) => m * PEER_TOLERANCE),
  };
  return () => expected;
}

/** x [tokens, rows of W] · W + bias */
function projected(x, W, bias) {
  const columns = bias.length;
  const rows = W.length / columns;
  const y = Float64Array.from({ length: (x.length / rows) * columns }, (_, n) => bias[n % columns]);
  for (let token = 0; token < x.length / rows; token++)
    for (let k = 0; k < rows; k++) {
      const factor = x[token * rows + k];
      for (let column = 0; column < columns; column++) y[token * columns + column] += factor * W[k * columns + column];
    }
  return y;
}

/** Turns heads [tokens, count · dim] by their positions, from `first` on: features m and m + dim/2 are a pair. */
function rotated(y, { count, dim, first, cos, sin }) {
  const half = dim / 2;
  for (let at = 0; at < y.length; at += dim) {
    const position = first + Math.floor(at / (count * dim));
    for (let m = 0; m < half; m++) {
      const [c, s] = [cos[position * half + m], sin[position * half + m]];
      const [a, b] = [y[at + m], y[at + half + m]];
      y[at + m] = a * c - b * s;
      y[at + half + m] = b * c + a * s;
    }
  }
  return y;
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
