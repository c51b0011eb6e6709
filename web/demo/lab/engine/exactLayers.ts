import type { AttentionEngine, EncoderLayer } from "../../model/transformerLayer.js";
import { exactAttention } from "./exact.js";

/** An engine for the encoder that computes its layers by their definition, in double precision. */
export const exactLayers: AttentionEngine = {
  multiHeadAttention: ({ modelDim, outputDim, numHeads, weights }) => {
    const headDim = modelDim / numHeads;
    const layer: EncoderLayer = {
      forward(x, { headGain, mask }) {
        const tokens = x.shape[1]!;
        const qkv = linear(x.data, weights.Wqkv.data, weights.bqkv.data);
        const part = (index: number): Heads => ({
          data: headsFirst(qkv, { tokens, numHeads, headDim, start: index * modelDim, width: 3 * modelDim }),
          shape: [1, numHeads, tokens, headDim],
        });
        const [query, key, value] = [part(0), part(1), part(2)];
        const { output, probs } = exactAttention(query, key, value, {
          ...(headGain && { headGain }),
          ...(mask && { mask }),
        });
        const y = linear(tokensFirst(output, { tokens, numHeads, headDim }), weights.Wo.data, weights.bo.data);
        const scores = rawScores(query, key);
        const contributions = Array.from({ length: numHeads }, (_, head) =>
          linear(
            tokensFirst(only(head, output, numHeads), { tokens, numHeads, headDim }),
            weights.Wo.data,
            new Float64Array(outputDim),
          ),
        );
        const heads = (data: Float64Array) => tensor(data, [1, numHeads, tokens, headDim]);
        return Promise.resolve({
          ...{ query: heads(query.data), key: heads(key.data), value: heads(value.data), headOutputs: heads(output) },
          contributions: tensor(joined(contributions), [1, numHeads, tokens, outputDim]),
          output: tensor(y, [1, tokens, outputDim]),
          probs: tensor(probs, [1, numHeads, tokens, tokens]),
          scores: tensor(scores, [1, numHeads, tokens, tokens]),
        });
      },
      dispose() {},
    };
    return Promise.resolve(layer);
  },
};

interface Heads {
  readonly data: Float64Array;
  readonly shape: readonly number[];
}
interface Packing {
  readonly tokens: number;
  readonly numHeads: number;
  readonly headDim: number;
}

function tensor(data: Float64Array, shape: readonly number[]) {
  return { data: Float32Array.from(data), shape };
}

/** The results of one head, and zeros for all others. */
function only(head: number, output: Float64Array, numHeads: number): Float64Array {
  const size = output.length / numHeads;
  return output.map((value, at) => (Math.floor(at / size) === head ? value : 0));
}

function joined(parts: readonly Float64Array[]): Float64Array {
  return Float64Array.from(parts.flatMap((part) => [...part]));
}

/** x·weight + bias, for each row of x. */
function linear(x: ArrayLike<number>, weight: ArrayLike<number>, bias: ArrayLike<number>): Float64Array {
  const outputs = bias.length;
  const inputs = weight.length / outputs;
  const rows = x.length / inputs;
  const y = new Float64Array(rows * outputs);
  for (let r = 0; r < rows; r++) {
    for (let o = 0; o < outputs; o++) y[r * outputs + o] = bias[o]!;
    for (let i = 0; i < inputs; i++)
      for (let o = 0; o < outputs; o++) y[r * outputs + o]! += x[r * inputs + i]! * weight[i * outputs + o]!;
  }
  return y;
}

/** [tokens, width] → [heads, tokens, headDim], from feature `start` on. */
function headsFirst(
  x: Float64Array,
  { tokens, numHeads, headDim, start, width }: Packing & { start: number; width: number },
) {
  return Float64Array.from({ length: tokens * numHeads * headDim }, (_, at) => {
    const [h, t, d] = [Math.floor(at / (tokens * headDim)), Math.floor(at / headDim) % tokens, at % headDim];
    return x[t * width + start + h * headDim + d]!;
  });
}

/** [heads, tokens, headDim] → [tokens, heads · headDim] */
function tokensFirst(x: Float64Array, { tokens, numHeads, headDim }: Packing): Float64Array {
  return Float64Array.from({ length: x.length }, (_, at) => {
    const [t, h, d] = [Math.floor(at / (numHeads * headDim)), Math.floor(at / headDim) % numHeads, at % headDim];
    return x[(h * tokens + t) * headDim + d]!;
  });
}

function rawScores(query: Heads, key: Heads): Float64Array {
  const [, heads, tokens, dim] = query.shape as [number, number, number, number];
  const scale = 1 / Math.sqrt(dim);
  return Float64Array.from({ length: heads * tokens * tokens }, (_, at) => {
    const [h, i, j] = [Math.floor(at / tokens ** 2), Math.floor(at / tokens) % tokens, at % tokens];
    let dot = 0;
    for (let d = 0; d < dim; d++)
      dot += query.data[(h * tokens + i) * dim + d]! * key.data[(h * tokens + j) * dim + d]!;
    return dot * scale;
  });
}
