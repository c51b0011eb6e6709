// Gradients of some rows, by definition in double precision, with their tolerance for a float32 engine.
//
//     p = exp(s - lse),  delta_i = dO_i · O_i,  dS_ij = p_ij (dO_i · v_j - delta_i)
//     dQ_i = scale Σ_j dS_ij k_j,  dK_j = scale Σ_i dS_ij q_i,  dV_j = Σ_i p_ij dO_i

import { visibleRanges } from "./cases.mjs";

const EPSILON = 2 ** -24;
/** As for the forward. */
const PEER_TOLERANCE = 1e-3;

/**
 * @returns a function of { b, h, i }: the gradients of query i, key i and value i, one after the other, with their
 *   `tolerance`, and a larger tolerance for peers. The case has as many keys as queries, and no groups of heads.
 */
export function gradientRows(problem) {
  const heads = new Map();
  return ({ b, h, i }) => {
    const name = `${b}/${h}`;
    if (!heads.has(name)) heads.set(name, weightsOfHead(problem, b, h));
    return rowsAt(problem, heads.get(name), b, h, i);
  };
}

const rowIn = (data, { heads, queries, dim }, b, h, i) =>
  data.subarray(((b * heads + h) * queries + i) * dim).subarray(0, dim);

const dot = (x, y) => x.reduce((sum, value, d) => sum + value * y[d], 0);
const magnitude = (x, y) => x.reduce((sum, value, d) => sum + Math.abs(value * y[d]), 0);

/** Of each query of a head: its visible keys, and p, dS and a bound of their error for each of them. */
function weightsOfHead({ shape, query, key, value, dOutput }, b, h) {
  const { queries, dim } = shape;
  const scale = 1 / Math.sqrt(dim);
  const product = EPSILON * (4 + dim / 4);
  const row = (data, i) => rowIn(data, shape, b, h, i);
  return Array.from({ length: queries }, (_, i) => {
    const [[first, last]] = visibleRanges(shape, b, i);
    const [q, dO] = [row(query, i), row(dOutput, i)];
    const pairs = Array.from({ length: last - first + 1 }, (_, n) => {
      const [k, v] = [row(key, first + n), row(value, first + n)];
      const ofScore = magnitude(q, k) * scale * product;
      return { j: first + n, s: dot(q, k) * scale, ofScore, dP: dot(dO, v), sizeOfDP: magnitude(dO, v) };
    });
    const largest = Math.max(...pairs.map(({ s }) => s));
    const sum = pairs.reduce((total, { s }) => total + Math.exp(s - largest), 0);
    const weights = pairs.map((pair) => ({ ...pair, p: Math.exp(pair.s - largest) / sum }));
    const delta = weights.reduce((total, { p, dP }) => total + p * dP, 0);
    const sizeOfDelta = weights.reduce((total, { p, sizeOfDP }) => total + p * sizeOfDP, 0);
    const ofWeight = 2 * Math.max(...pairs.map(({ ofScore }) => ofScore)) + 16 * EPSILON;
    return weights.map(({ j, p, dP, sizeOfDP }) => ({
      ...{ j, p, dS: p * (dP - delta) },
      errorOfP: p * ofWeight,
      errorOfDS: p * (sizeOfDP + sizeOfDelta) * (2 * ofWeight + product),
    }));
  });
}

function rowsAt({ shape, query, key, dOutput }, weights, b, h, i) {
  const { dim, queries } = shape;
  const scale = 1 / Math.sqrt(dim);
  const row = (data, n) => rowIn(data, shape, b, h, n);
  const values = new Float64Array(3 * dim);
  const [errors, sizes] = [new Float64Array(3 * dim), new Float64Array(3 * dim)];
  const add = (from, factor, error, x) => {
    for (let d = 0; d < dim; d++) {
      values[from + d] += factor * x[d];
      sizes[from + d] += Math.abs(factor * x[d]);
      errors[from + d] += error * Math.abs(x[d]);
    }
  };
  for (const { j, dS, errorOfDS } of weights[i]) add(0, scale * dS, scale * errorOfDS, row(key, j));
  for (const [n, pairs] of weights.entries()) {
    const pair = pairs.find(({ j }) => j === i);
    if (!pair) continue;
    add(dim, scale * pair.dS, scale * pair.errorOfDS, row(query, n));
    add(2 * dim, pair.p, pair.errorOfP, row(dOutput, n));
  }
  const ofSum = EPSILON * (4 + queries / 4);
  const largest = [0, 1, 2].map((part) => Math.max(...sizes.subarray(part * dim, (part + 1) * dim)));
  return {
    values,
    tolerance: sizes.map((size, d) => errors[d] + ofSum * size),
    peerTolerance: sizes.map((_, d) => PEER_TOLERANCE * largest[Math.floor(d / dim)]),
  };
}
