// ONNX Runtime Web on WebGPU, by its own operator MultiHeadAttention: its WebGPU provider has no kernel for ONNX's Attention.

import { runOperator } from "./onnxOperator.mjs";

export const name = "onnxruntime-web WebGPU";
export const packages = ["onnxruntime-web"];
export const needs = "WebGPU";

const packed = ({ data, dtype, shape: [B, S, H, D] }) => ({ data, dtype, shape: [B, S, H * D] });

export async function open({ load, assets }) {
  const [ort] = await load("onnxruntime-web/webgpu");
  ort.env.wasm.wasmPaths = assets("onnxruntime-web/dist/");
  ort.env.logLevel = "fatal";
  const onGpuOnly = { session: { disable_cpu_ep_fallback: "1" } }; // what it computes on the CPU counts as refused
  const session = { executionProviders: ["webgpu"], extra: onGpuOnly };
  return {
    version: ort.env.versions.web,
    offers: ["causal", "bias", "float16"],
    layout: "BSHD",
    unpromised: ["isolation", "float16"],
    async attention({ query, key, value, options: { causal, scale, bias } }) {
      const attributes = { num_heads: query.shape[2], unidirectional: Number(Boolean(causal)), scale };
      const operator = { op: "MultiHeadAttention", domain: "com.microsoft", attributes };
      const wide = bias && { ...bias, shape: [1, 1, 1, ...bias.shape].slice(-4) };
      const inputs = [
        ["query", packed(query)],
        ["key", packed(key)],
        ["value", packed(value)],
        ["bias", undefined],
        ["key_padding_mask", undefined],
        ["attention_bias", wide],
      ];
      return runOperator(ort, session, operator, inputs, ["output"]);
    },
  };
}
