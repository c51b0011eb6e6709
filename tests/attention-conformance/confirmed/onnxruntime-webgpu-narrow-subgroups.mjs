// MultiHeadAttention of 33 queries on an adapter whose subgroups have 4 lanes, as Chromium's SwiftShader. Query and key are
// 0, so row i is the mean of the values it sees; the values are 0, 1, 2, …: causal row 4 sees 0 to 4, the mean is 2. Without
// causality every row sees 0 to 32, the mean is 16.

import { integer, modelOf } from "./model.mjs";
import { runOnWebGPU } from "./webgpu.mjs";

const D = 8;

function meanOf(queries, unidirectional) {
  const attribute = [integer("num_heads", 1), integer("unidirectional", unidirectional)];
  const shape = [1, queries, D];
  const model = modelOf(
    { op_type: "MultiHeadAttention", domain: "com.microsoft", attribute },
    { query: shape, key: shape, value: shape },
    ["output"],
  );
  const zeros = { data: Array(queries * D).fill(0), shape };
  const value = { data: zeros.data.map((_, k) => Math.floor(k / D)), shape };
  return [model, { query: zeros, key: zeros, value }];
}

export async function run() {
  const { lanes, outputs } = await runOnWebGPU([meanOf(17, 1), meanOf(33, 1), meanOf(33, 0)]);
  const without = await runOnWebGPU([meanOf(33, 1), meanOf(33, 0)], { subgroups: false });
  const rows = (output) => [3, 4, 10].map((i) => output[i * D]);
  return {
    lanes,
    expected: [1.5, 2, 5],
    got: rows(outputs[1]),
    "expected of all keys": [16, 16, 16],
    "got of all keys": rows(outputs[2]),
    "with 17 queries, causal": rows(outputs[0]),
    "without subgroups": without.outputs.map(rows),
  };
}
