// ONNX Runtime Web on wasm, by ONNX's own operator Attention (opset 24).

import { runOperator } from "./onnxOperator.mjs";

export const name = "onnxruntime-web wasm";
export const packages = ["onnxruntime-web"];

const INPUTS = ["Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"];
const OUTPUTS = ["Y", "present_key", "present_value", "qk_matmul_output"];
const MODES = { raw: 0, softcapped: 1, biased: 2, probs: 3 };

export async function open({ load, assets, isNode }) {
  const [ort] = await load(isNode ? "onnxruntime-web" : "onnxruntime-web/wasm");
  if (!isNode) ort.env.wasm.wasmPaths = assets("onnxruntime-web/dist/");
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "fatal";
  const run = (inputs, attributes, wanted, opset) => {
    const last = Math.max(...wanted.map((each) => OUTPUTS.indexOf(each)));
    const outputs = OUTPUTS.slice(0, last + 1).map((each) => (wanted.includes(each) ? each : ""));
    const given = INPUTS.map((each) => [each, inputs[each]]);
    return runOperator(ort, { executionProviders: ["wasm"] }, { op: "Attention", attributes, opset }, given, outputs);
  };
  return {
    version: ort.env.versions.web,
    offers: ["gqa", "causal", "causal upper-left", "boolean mask", "bias", "key lengths", "softcap", "float16"].concat(
      ["probs", "scores"], // as qk_matmul_output
    ),
    unpromised: ["isolation", "float16"], // ONNX: softmax has the precision of Q and K, hidden keys are added as −∞
    async attention({ query: Q, key: K, value: V, options, returns }) {
      const { mask, bias, causal, scale, softcap, keyLengths } = options;
      if (mask && bias) throw new Error("attn_mask is one input");
      if (causal && keyLengths) throw new Error("with nonpad_kv_seqlen, is_causal is lower-right by ONNX");
      const lengths = { data: BigInt64Array.from(keyLengths ?? [], BigInt), shape: [Q.shape[0]], dtype: "int64" };
      const inputs = { Q, K, V, attn_mask: mask ?? bias, ...(keyLengths && { nonpad_kv_seqlen: lengths }) };
      const attributes = { is_causal: Number(Boolean(causal)), scale, softcap };
      const { Y: output } = await run(inputs, attributes, ["Y"], 24);
      const lookedAt = async (stage) => {
        const asked = { ...attributes, qk_matmul_output_mode: MODES[stage] };
        return (await run(inputs, asked, ["Y", "qk_matmul_output"], 24)).qk_matmul_output;
      };
      const probs = returns.probs && { probs: await lookedAt("probs") };
      return { output, ...probs, ...(returns.scores && { scores: await lookedAt(returns.scores) }) };
    },
    onnx({ attributes, outputs, opset }, inputs) {
      const wanted = outputs.map((each) => each.name);
      return run(inputs, attributes, wanted, opset);
    },
  };
}
