/**
 * Gradients of a layer by finite differences of its definition in double precision. It is independent of every formula
 * of a gradient.
 *
 * Letters: b batch, h query head, g key head, i query, j key, d feature.
 */

import type { LayerProblem } from "../../web/src/layer/layerProblem.js";

/** The numbers that a layer reads, by name. Gradients are with respect to all of them. */
export type Numbers = Readonly<Record<string, Float64Array>>;

/** Sequence n: its rows of queries and keys, and the position of query 0. */
export interface Span {
  readonly batch: number;
  readonly queries: readonly [begin: number, end: number];
  readonly keys: readonly [begin: number, end: number];
  readonly offset: number;
}

export interface LayerCall {
  readonly problem: LayerProblem;
  /** The name of each role's weight and bias in `numbers`. */
  readonly names: Readonly<Partial<Record<"query" | "key" | "value" | "output", { weight: string; bias?: string }>>>;
  readonly batchSize: number;
  readonly queryLength: number;
  readonly keyLength: number;
  readonly sequences: readonly Span[];
  /** Of query i of sequence n and key j, counted in their sequence. */
  readonly visible: (n: number, i: number, j: number) => boolean;
}

const STEP = 1e-4;

/** d(Σ output · dOutput) by every number. */
export function gradientsOf(call: LayerCall, numbers: Numbers, dOutput: ArrayLike<number>): Numbers {
  const loss = () => {
    const output = outputOf(call, numbers);
    return output.reduce((sum, value, n) => sum + value * dOutput[n]!, 0);
  };
  return Object.fromEntries(
    Object.entries(numbers).map(([name, values]) => [
      name,
      Float64Array.from({ length: values.length }, (_, n) => {
        const value = values[n]!;
        values[n] = value + STEP;
        const above = loss();
        values[n] = value - STEP;
        const below = loss();
        values[n] = value;
        return (above - below) / (2 * STEP);
      }),
    ]),
  );
}

type Rows = Float64Array[];

function outputOf(call: LayerCall, numbers: Numbers): Float64Array {
  const { problem, batchSize, queryLength, keyLength, sequences } = call;
  const { shape, layout, weights } = problem;
  const { numHeads, numKvHeads, headDim, valueHeadDim } = shape;
  const read = (name: string, length: number, width: number): Rows =>
    Array.from({ length: batchSize * length }, (_, row) => {
      const [b, s] = [Math.floor(row / length), row % length];
      return Float64Array.from({ length: width }, (_, f) => {
        const at = layout === "BSE" ? row * width + f : (b * width + f) * length + s;
        return numbers[name]![at]!;
      });
    });
  const x = read("x", queryLength, shape.inputDim);
  addPositions(call, x, numbers);
  const key = numbers["key"] ? read("key", keyLength, shape.keyInputDim) : x;
  const value = numbers["value"] ? read("value", keyLength, shape.valueInputDim) : key;
  const linear = (role: "query" | "key" | "value" | "output", rows: Rows, outputs: number): Rows => {
    const { offset, inStride, outStride, bias } = weights[role]!;
    const { weight, bias: biasName } = call.names[role]!;
    const W = numbers[weight]!;
    return rows.map((row) =>
      Float64Array.from({ length: outputs }, (_, o) => {
        let sum = biasName === undefined ? 0 : numbers[biasName]![bias!.offset + o]!;
        row.forEach((a, i) => (sum += a * W[offset + i * inStride + o * outStride]!));
        return sum;
      }),
    );
  };
  const q = linear("query", x, numHeads * headDim);
  const k = linear("key", key, numKvHeads * headDim);
  const v = linear("value", value, numKvHeads * valueHeadDim);
  for (const { batch, queries, keys, offset } of sequences) {
    for (let i = queries[0]; i < queries[1]; ++i)
      finishHeads(problem, q[batch * queryLength + i]!, gainOf(numbers, "query"), i - queries[0] + offset);
    for (let j = keys[0]; j < keys[1]; ++j)
      finishHeads(problem, k[batch * keyLength + j]!, gainOf(numbers, "key"), j - keys[0]);
  }
  const heads = x.map(() => new Float64Array(numHeads * valueHeadDim));
  sequences.forEach((sequence, n) => attend(call, n, sequence, { q, k, v }, numbers, heads));
  const output = weights.output ? linear("output", heads, shape.outputDim) : heads;
  const width = output[0]!.length;
  const all = new Float64Array(output.length * width);
  output.forEach((row, r) => {
    const [b, s] = [Math.floor(r / queryLength), r % queryLength];
    row.forEach((number, f) => {
      all[layout === "BSE" ? r * width + f : (b * width + f) * queryLength + s] = number;
    });
  });
  return all;
}

function gainOf(numbers: Numbers, role: "query" | "key"): Float64Array | undefined {
  return numbers[`qkNorm.gain.${role}`] ?? numbers["qkNorm.gain"];
}

/** Adds the rows of the learned or sinusoidal table to the tokens of x. */
function addPositions({ problem, sequences, queryLength }: LayerCall, x: Rows, numbers: Numbers): void {
  const { position, shape } = problem;
  if (position.kind !== "learned" && position.kind !== "sinusoidal") return;
  const width = shape.inputDim;
  for (const { batch, queries, offset } of sequences)
    for (let i = queries[0]; i < queries[1]; ++i) {
      const at = i - queries[0] + offset;
      x[batch * queryLength + i]!.forEach((_, f, row) => {
        row[f]! +=
          position.kind === "learned"
            ? numbers["position.table"]![at * width + f]!
            : (f % 2 === 0 ? Math.sin : Math.cos)(at * position.base ** ((-2 * Math.floor(f / 2)) / width));
      });
    }
}

/** Norms and turns all heads of a row in place. */
function finishHeads(
  { shape, qkNorm, position }: LayerProblem,
  row: Float64Array,
  gain: Float64Array | undefined,
  at: number,
) {
  const { headDim } = shape;
  for (let first = 0; first < row.length; first += headDim) {
    const head = row.subarray(first, first + headDim);
    if (qkNorm) {
      const squares = head.reduce((sum, a) => sum + a * a, 0);
      const size =
        qkNorm.kind === "rms"
          ? Math.sqrt(squares / headDim + qkNorm.epsilon)
          : Math.max(Math.sqrt(squares), qkNorm.epsilon);
      head.forEach((a, d) => (head[d] = (a / size) * (gain?.[d] ?? 1)));
    }
    if (position.kind !== "rotary") continue;
    const { base, interleaved, rotaryDim: given } = position.angles;
    const rotaryDim = given || headDim;
    for (let m = 0; m < rotaryDim / 2; ++m) {
      const angle = at * base ** ((-2 * m) / rotaryDim);
      const [a, b] = interleaved ? [2 * m, 2 * m + 1] : [m, m + rotaryDim / 2];
      const [low, high] = [head[a]!, head[b]!];
      head[a] = Math.cos(angle) * low - Math.sin(angle) * high;
      head[b] = Math.cos(angle) * high + Math.sin(angle) * low;
    }
  }
}

function attend(
  { problem, batchSize, queryLength, keyLength, visible }: LayerCall,
  n: number,
  { batch, queries, keys }: Span,
  { q, k, v }: Readonly<Record<"q" | "k" | "v", Rows>>,
  numbers: Numbers,
  heads: Rows,
): void {
  const { numHeads, numKvHeads, headDim, valueHeadDim } = problem.shape;
  const bias = numbers["bias"]; // [numHeads, Sq, Skv]
  for (let h = 0; h < numHeads; ++h) {
    const g = Math.floor((h * numKvHeads) / numHeads);
    for (let i = 0; i < queries[1] - queries[0]; ++i) {
      const query = q[batch * queryLength + queries[0] + i]!.subarray(h * headDim, (h + 1) * headDim);
      const weights: [number, number][] = [];
      for (let j = 0; j < keys[1] - keys[0]; ++j) {
        if (!visible(n, i, j)) continue;
        const at = batch * keyLength + keys[0] + j;
        let score = 0;
        for (let d = 0; d < headDim; ++d) score += query[d]! * k[at]![g * headDim + d]!;
        score /= Math.sqrt(headDim);
        if (bias) score += bias[(h * queryLength + i) * keyLength + j]!;
        weights.push([at, Math.exp(score)]);
      }
      const sink = numbers["sinks"] ? Math.exp(numbers["sinks"][h]!) : 0;
      const total = weights.reduce((sum, [, weight]) => sum + weight, sink);
      const output = heads[batch * queryLength + queries[0] + i]!;
      for (const [at, weight] of weights)
        for (let d = 0; d < valueHeadDim; ++d)
          output[h * valueHeadDim + d]! += (weight / total) * v[at]![g * valueHeadDim + d]!;
    }
  }
  if (batchSize === 0) throw new Error("no batch");
}
