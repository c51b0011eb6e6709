// MultiHeadAttention with the attribute scale = 0: both scores are 0, so both keys weigh 1/2 and the output is the mean of
// the values 0 and 1. With the default scale 1/√2 the second key, with a score of 10/√2, would weigh 0.99915.

import { float, integer, modelOf } from "./model.mjs";
import { runOnWebGPU } from "./webgpu.mjs";

const node = {
  op_type: "MultiHeadAttention",
  domain: "com.microsoft",
  attribute: [integer("num_heads", 1), float("scale", 0)],
};
const model = modelOf(node, { query: [1, 1, 2], key: [1, 2, 2], value: [1, 2, 2] }, ["output"]);
const query = { data: [1, 0], shape: [1, 1, 2] };
const key = { data: [0, 0, 10, 0], shape: [1, 2, 2] };
const value = { data: [0, 0, 1, 1], shape: [1, 2, 2] };

export async function run() {
  const { outputs } = await runOnWebGPU([[model, { query, key, value }]]);
  return { expected: 0.5, got: outputs[0][0] };
}
