// The numbers of a case, which are the same for every contender, and the layouts that contenders need.

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

/** Query, key and value as [batch, heads, length, dim]; for a layer also its input and weights. */
export function makeProblem(shape) {
  const { batch, heads, kvHeads, queries, keys, dim, cache, layer } = shape;
  const width = heads * dim;
  if (layer) return { shape, input: noise(queries * width, 1), weights: makeWeights(width) };
  // A float16 cache must hold exactly the numbers of the reference.
  const stored = (values) => (cache === "float16" ? values.map(roundToHalf) : values);
  return {
    shape,
    query: noise(batch * heads * queries * dim, 1),
    key: stored(noise(batch * kvHeads * keys * dim, 2)),
    value: stored(noise(batch * kvHeads * keys * dim, 3)),
  };
}

function makeWeights(width) {
  const matrix = (seed) => noise(width * width, seed).map((x) => x / Math.sqrt(width));
  const [Wq, Wk, Wv, Wo] = [11, 12, 13, 14].map(matrix);
  const [bq, bk, bv, bo] = [15, 16, 17, 18].map((seed) => noise(width, seed));
  return { Wq, Wk, Wv, Wo, bq, bk, bv, bo };
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
