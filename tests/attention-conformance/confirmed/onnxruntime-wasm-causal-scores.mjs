// Attention (opset 23) of 2 queries and 2 keys, causal, with a mask of zeros; qk_matmul_output_mode 2 asks for the scores
// after the mask. Query 0 does not see key 1: ONNX's published cases have −∞ there.

import { createRequire } from "node:module";

import { integer, modelOf } from "./model.mjs";

const ort = createRequire(import.meta.url)("onnxruntime-web");
ort.env.wasm.numThreads = 1;

const node = { op_type: "Attention", attribute: [integer("is_causal", 1), integer("qk_matmul_output_mode", 2)] };
const heads = [1, 1, 2, 2];
const model = modelOf(node, { Q: heads, K: heads, V: heads, attn_mask: [2, 2] }, ["Y", "", "", "qk_matmul_output"]);
const tensor = (data, shape = heads) => new ort.Tensor("float32", Float32Array.from(data), shape);

export async function run() {
  const session = await ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
  const ones = tensor([1, 1, 1, 1]);
  const { Y, qk_matmul_output } = await session.run({
    Q: ones,
    K: ones,
    V: ones,
    attn_mask: tensor([0, 0, 0, 0], [2, 2]),
  });
  return {
    expected: [Math.SQRT2, -Infinity, Math.SQRT2, Math.SQRT2],
    got: [...qk_matmul_output.data],
    "the output, which is right": [...Y.data],
  };
}
