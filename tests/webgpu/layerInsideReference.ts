/**
 * The inside of a layer by its definition, in double precision: queries, keys, values, weights, results of heads and
 * their shares in the output. A test may overwrite each of them before the next one is computed. It is independent of
 * every engine.
 *
 * Letters: b batch, h head, i query, j key, d feature.
 */

type Numbers = ArrayLike<number>;

/** A layer of layout "BSE". Weights are [in, out]. */
export interface InsideLayer {
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly valueHeadDim: number;
  readonly outputDim: number;
  readonly weights: Readonly<
    Partial<Record<"Wq" | "Wk" | "Wv" | "Wo" | "bq" | "bk" | "bv" | "bo", { readonly data: Numbers }>>
  >;
  /** The gain of an rms norm of queries and keys. */
  readonly gain?: Numbers;
  /** The base of a rotary embedding, which turns halves of heads. */
  readonly base?: number;
}

/** Sequence n: its rows of queries and keys, and the position of query 0. */
export interface InsideSequence {
  readonly batch: number;
  readonly queries: readonly [begin: number, end: number];
  readonly keys: readonly [begin: number, end: number];
  readonly offset: number;
}

export interface InsideCall {
  readonly layer: InsideLayer;
  readonly batchSize: number;
  readonly queryLength: number;
  readonly keyLength: number;
  /** [B, queryLength, inputDim] and [B, keyLength, inputDim]. */
  readonly x: Numbers;
  readonly key: Numbers;
  readonly sequences: readonly InsideSequence[];
  /** Of query i and key j, counted in their sequence. */
  readonly visible: (n: number, i: number, j: number) => boolean;
  readonly headGain?: Numbers;
}

/** Numbers [B, heads, rows, width]. */
export class Grid {
  readonly data: Float64Array;
  readonly shape: readonly [number, number, number, number];

  constructor(shape: readonly [number, number, number, number]) {
    this.shape = shape;
    this.data = new Float64Array(shape.reduce((product, extent) => product * extent, 1));
  }

  row(b: number, h: number, r: number): Float64Array {
    const [, heads, rows, width] = this.shape;
    const from = ((b * heads + h) * rows + r) * width;
    return this.data.subarray(from, from + width);
  }

  /** The chosen heads and rows. */
  slice(heads: readonly number[], rows: readonly number[]): Grid {
    const part = new Grid([this.shape[0], heads.length, rows.length, this.shape[3]]);
    for (let b = 0; b < this.shape[0]; ++b)
      heads.forEach((h, m) => rows.forEach((r, n) => part.row(b, m, n).set(this.row(b, h, r))));
    return part;
  }
}

export type InsideName = "query" | "key" | "value" | "probs" | "headOutputs";

export interface Inside extends Readonly<Record<InsideName | "contributions", Grid>> {
  /** [B, queryLength, outputDim] */
  readonly output: Float64Array;
}

/** The inside of a call. `patch` may overwrite each grid when it is complete. */
export function insideOf(call: InsideCall, patch: (name: InsideName, grid: Grid) => void = () => {}): Inside {
  const { layer, batchSize, queryLength, keyLength, sequences } = call;
  const { numHeads, numKvHeads, headDim, valueHeadDim, weights } = layer;
  const project = (rows: Numbers, length: number, heads: number, width: number, W: Numbers, bias?: Numbers): Grid => {
    const grid = new Grid([batchSize, heads, length, width]);
    const columns = heads * width;
    const inputs = W.length / columns;
    for (let b = 0; b < batchSize; ++b)
      for (let o = 0; o < columns; ++o)
        for (let r = 0; r < length; ++r) {
          let sum = bias?.[o] ?? 0;
          for (let i = 0; i < inputs; ++i) sum += rows[(b * length + r) * inputs + i]! * W[i * columns + o]!;
          grid.row(b, Math.floor(o / width), r)[o % width] = sum;
        }
    return grid;
  };
  const query = project(call.x, queryLength, numHeads, headDim, weights.Wq!.data, weights.bq?.data);
  const key = project(call.key, keyLength, numKvHeads, headDim, weights.Wk!.data, weights.bk?.data);
  const value = project(call.key, keyLength, numKvHeads, valueHeadDim, weights.Wv!.data, weights.bv?.data);
  for (const { batch, queries, keys, offset } of sequences) {
    for (let h = 0; h < numHeads; ++h)
      for (let i = queries[0]; i < queries[1]; ++i) finish(layer, query.row(batch, h, i), i - queries[0] + offset);
    for (let h = 0; h < numKvHeads; ++h)
      for (let j = keys[0]; j < keys[1]; ++j) finish(layer, key.row(batch, h, j), j - keys[0]);
  }
  patch("query", query);
  patch("key", key);
  patch("value", value);
  const probs = probsOf(call, query, key);
  patch("probs", probs);
  const headOutputs = new Grid([batchSize, numHeads, queryLength, valueHeadDim]);
  eachRow(headOutputs, (b, h, i, row) => {
    probs.row(b, h, i).forEach((p, j) => {
      if (p === 0) return; // also if the value is NaN
      const v = value.row(b, Math.floor((h * numKvHeads) / numHeads), j);
      row.forEach((_, d) => (row[d]! += (call.headGain?.[h] ?? 1) * p * v[d]!));
    });
  });
  patch("headOutputs", headOutputs);
  return { query, key, value, probs, headOutputs, ...sharesOf(call, headOutputs) };
}

/** What each head adds to the output, and the output. */
function sharesOf({ layer, batchSize, queryLength }: InsideCall, headOutputs: Grid) {
  const { numHeads, valueHeadDim, outputDim, weights } = layer;
  const contributions = new Grid([batchSize, numHeads, queryLength, outputDim]);
  const output = new Float64Array(batchSize * queryLength * outputDim);
  output.forEach((_, n) => (output[n] = weights.bo?.data[n % outputDim] ?? 0));
  eachRow(contributions, (b, h, i, row) => {
    const head = headOutputs.row(b, h, i);
    row.forEach((_, o) => {
      head.forEach((a, d) => (row[o]! += a * (weights.Wo?.data[(h * valueHeadDim + d) * outputDim + o] ?? 0)));
      output[(b * queryLength + i) * outputDim + o]! += row[o]!;
    });
  });
  return { contributions, output };
}

function probsOf({ layer, batchSize, queryLength, keyLength, sequences, visible }: InsideCall, query: Grid, key: Grid) {
  const { numHeads, numKvHeads, headDim } = layer;
  const probs = new Grid([batchSize, numHeads, queryLength, keyLength]);
  sequences.forEach(({ batch, queries, keys }, n) => {
    for (let h = 0; h < numHeads; ++h)
      for (let i = queries[0]; i < queries[1]; ++i) {
        const row = probs.row(batch, h, i);
        const q = query.row(batch, h, i);
        for (let j = keys[0]; j < keys[1]; ++j) {
          if (!visible(n, i - queries[0], j - keys[0])) continue;
          const k = key.row(batch, Math.floor((h * numKvHeads) / numHeads), j);
          row[j] = Math.exp(q.reduce((sum, a, d) => sum + a * k[d]!, 0) / Math.sqrt(headDim));
        }
        const total = row.reduce((sum, p) => sum + p, 0);
        if (total > 0) row.forEach((p, j) => (row[j] = p / total));
      }
  });
  return probs;
}

/** Norms a head, then turns it. */
function finish({ gain, base, headDim }: InsideLayer, head: Float64Array, at: number): void {
  if (gain) {
    const size = Math.sqrt(head.reduce((sum, a) => sum + a * a, 0) / headDim + 1e-6);
    head.forEach((a, d) => (head[d] = (a / size) * gain[d]!));
  }
  if (base === undefined) return;
  for (let m = 0; m < headDim / 2; ++m) {
    const angle = at * base ** ((-2 * m) / headDim);
    const [low, high] = [head[m]!, head[m + headDim / 2]!];
    head[m] = Math.cos(angle) * low - Math.sin(angle) * high;
    head[m + headDim / 2] = Math.cos(angle) * high + Math.sin(angle) * low;
  }
}

export function eachRow(grid: Grid, visit: (b: number, h: number, r: number, row: Float64Array) => void): void {
  const [batches, heads, rows] = grid.shape;
  for (let b = 0; b < batches; ++b)
    for (let h = 0; h < heads; ++h) for (let r = 0; r < rows; ++r) visit(b, h, r, grid.row(b, h, r));
}

/** Puts the mean of a head's rows, over the batch and the rows of `isToken`, in place of the chosen ones. */
export function putMean(
  grid: Grid,
  heads: readonly number[],
  rows: readonly number[],
  isToken: (b: number, r: number) => boolean,
): void {
  for (const h of heads) {
    const mean = new Float64Array(grid.shape[3]);
    let count = 0;
    for (let b = 0; b < grid.shape[0]; ++b)
      for (let r = 0; r < grid.shape[2]; ++r) {
        if (!isToken(b, r)) continue;
        count += 1;
        grid.row(b, h, r).forEach((a, d) => (mean[d]! += a));
      }
    for (let b = 0; b < grid.shape[0]; ++b)
      for (const r of rows) if (isToken(b, r)) grid.row(b, h, r).set(mean.map((sum) => sum / count));
  }
}
