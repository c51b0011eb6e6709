import { assertIntact } from "../base/intact.js";
import { rowToInt8 } from "../linear/int8.js";
import { numbersOf } from "../tensor/half.js";
import type { LayerProblem } from "./layerProblem.js";
import type { Extents, LinearWeights } from "./layerWeights.js";

/**
 * The problem with weights of int8, each in an array of its own, [out, in]. Weights that are int8 already stay as they are.
 * The layer of the wasm engine rounds in the same way.
 */
export function withInt8Weights(problem: LayerProblem): LayerProblem {
  const { operation, shape, weights } = problem;
  const { inputDim, keyInputDim, valueInputDim, outputDim, numHeads, numKvHeads, headDim, valueHeadDim } = shape;
  const rounded = (linear: LinearWeights, extents: Extents): LinearWeights => {
    if (linear.weight.dtype === "int8") return linear;
    assertIntact(operation, "a weight", linear.weight.data);
    return roundedToInt8(linear, extents);
  };
  const { query, key, value, output } = weights;
  return {
    ...problem,
    weights: {
      query: rounded(query, { in: inputDim, out: numHeads * headDim }),
      key: rounded(key, { in: keyInputDim, out: numKvHeads * headDim }),
      value: rounded(value, { in: valueInputDim, out: numKvHeads * valueHeadDim }),
      output: output && rounded(output, { in: numHeads * valueHeadDim, out: outputDim }),
    },
  };
}

function roundedToInt8({ weight, offset, inStride, outStride, bias }: LinearWeights, extents: Extents): LinearWeights {
  const { in: width, out } = extents;
  const numbers = weight.data as Float32Array | Uint16Array;
  const row = new (weight.dtype === "float32" ? Float32Array : Uint16Array)(width);
  const data = new Int8Array(out * width);
  const scales = new Float32Array(out);
  for (let o = 0; o < out; ++o) {
    const first = offset + o * outStride;
    for (let i = 0; i < width; ++i) row[i] = numbers[first + i * inStride]!;
    scales[o] = rowToInt8(numbersOf(row, weight.dtype) as Float32Array, data.subarray(o * width, (o + 1) * width));
  }
  return {
    weight: { data, shape: [out, width], dtype: "int8" },
    scales: { data: scales, shape: [out], dtype: "float32" },
    offset: 0,
    inStride: 1,
    outStride: width,
    bias,
  };
}
