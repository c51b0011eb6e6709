// The numbers of a case, which are the same for every contender, and the layouts that contenders need.

import { maskOf } from "./cases.mjs";
import { FORMULAS } from "./formulas.mjs";

/** Uniform random numbers of variance 1, from a seed. */
function noise(length, seed) {
  const values = new Float32Array(length);
  let state = seed;
  for (let k = 0; k < length; k++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[k] = (state / 2 ** 31 - 1) * Math.sqrt(3);
  }
  return values;
}

/**
 * Query, key and value as [batch, heads, length, dim], with the mask { data, shape } and the ALiBi slopes of a case that
 * has them, its formula with the values of its parameters, and the gradient of the output. For a linear map its input and
 * weight { data, shape, dtype, scales }, whose float16 numbers are given in float32. For a layer its input and weights; its positions, as a table to add to the input or as the tables of a
 * rotary embedding; and keys and values of the tokens that are in its cache already.
 */
export function makeProblem(shape) {
  const { batch, heads, kvHeads, queries, keys, dim, cache, layer } = shape;
  // A float16 cache must hold exactly the numbers of the reference.
  const stored = (values) => (cache === "float16" ? values.map(roundToHalf) : values);
  const keysOf = (length) => ({
    key: stored(noise(batch * kvHeads * length * dim, 2)),
    value: stored(noise(batch * kvHeads * length * dim, 3)),
  });
  if (shape.linear) return { shape, input: noise(shape.linear.inputs, 1), weight: makeWeight(shape.linear) };
  if (layer)
    return {
      shape,
      input: noise(queries * heads * dim, 1),
      weights: makeWeights(heads * dim, kvHeads * dim),
      ...makePositions(shape),
      past: cache && keysOf(keys - queries),
    };
  return {
    shape,
    query: noise(batch * heads * queries * dim, 1),
    ...keysOf(keys),
    dOutput: shape.gradient && noise(batch * heads * queries * dim, 4),
    mask: makeMask(shape),
    formula: shape.formula && { ...FORMULAS[shape.formula], parameters: FORMULAS[shape.formula].parameters(shape) },
    slopes: shape.alibi ? Float32Array.from({ length: heads }, (_, h) => 2 ** ((-8 * (h + 1)) / heads)) : undefined,
  };
}

/** float16 numbers are given as float32 that float16 holds exactly. */
function makeWeight({ inputs, outputs, dtype, layout }) {
  const numbers = noise(inputs * outputs, 5);
  const shape = layout === "in-out" ? [inputs, outputs] : [outputs, inputs];
  if (dtype === "int8")
    return { data: Int8Array.from(numbers, (x) => 70 * x), shape, dtype, scales: noise(outputs, 6).map((x) => x / 70) };
  return { data: dtype === "float16" ? numbers.map(roundToHalf) : numbers, shape, dtype };
}

function makeWeights(width, kvWidth) {
  const matrix = (columns, seed) => noise(width * columns, seed).map((x) => x / Math.sqrt(width));
  return {
    ...{ Wq: matrix(width, 11), Wk: matrix(kvWidth, 12), Wv: matrix(kvWidth, 13), Wo: matrix(width, 14) },
    ...{ bq: noise(width, 15), bk: noise(kvWidth, 16), bv: noise(kvWidth, 17), bo: noise(width, 18) },
  };
}

/** Tables with a row for each token, from position 0 on. What is computed is in double precision. */
function makePositions({ position, heads, keys, dim }) {
  const width = heads * dim;
  const tableOf = (columns, number) =>
    Float64Array.from({ length: keys * columns }, (_, n) => number(Math.floor(n / columns), n % columns));
  const angle = (token, pair, features) => token * 10000 ** ((-2 * pair) / features);
  const sinusoid = (token, feature) =>
    (feature % 2 === 0 ? Math.sin : Math.cos)(angle(token, Math.floor(feature / 2), width));
  const turns = (of) => tableOf(dim / 2, (token, pair) => of(angle(token, pair, dim)));
  if (position === "learned") return { table: noise(keys * width, 19) };
  if (position === "sinusoidal") return { table: tableOf(width, sinusoid) };
  if (position === "rotary") return { cos: turns(Math.cos), sin: turns(Math.sin) };
  return {};
}

function makeMask(shape) {
  const mask = maskOf(shape);
  if (!mask) return undefined;
  const [, , queries, keys] = mask.extents;
  const data = new Uint8Array(mask.extents.reduce((product, extent) => product * extent));
  for (let n = 0; n < data.length; n++) {
    const row = Math.floor(n / keys);
    data[n] = Number(mask.sees(Math.floor(row / queries), row % queries, n % keys));
  }
  return { data, shape: mask.extents };
}

/**
 * Rounds to 11 significant bits. The numbers here are within float16's range, except those below its smallest normal
 * number.
 */
function roundToHalf(x) {
  const step = 2 ** (Math.max(-14, Math.floor(Math.log2(Math.abs(x) || 1))) - 10);
  return Math.round(x / step) * step;
}

/** [batch, heads, length, dim] → [batch, length, heads · dim]. */
export function packHeads(data, { batch, heads, length, dim }) {
  const packed = new Float32Array(data.length);
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < heads; h++)
      for (let s = 0; s < length; s++) {
        const from = ((b * heads + h) * length + s) * dim;
        packed.set(data.subarray(from, from + dim), ((b * length + s) * heads + h) * dim);
      }
  return packed;
}

/** [1, kvHeads, length, dim] → [1, heads, length, dim]: repeats each key head for every query head of its group. */
export function repeatHeads(data, { heads, kvHeads }) {
  const size = data.length / kvHeads;
  const repeated = new Float32Array(heads * size);
  for (let h = 0; h < heads; h++) {
    const from = Math.floor((h * kvHeads) / heads) * size;
    repeated.set(data.subarray(from, from + size), h * size);
  }
  return repeated;
}
