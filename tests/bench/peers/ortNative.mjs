import { onnxForms } from "./onnx.mjs";

/** ONNX Runtime outside the browser, on one thread whatever headwise has. */
export async function open({ isNode }) {
  if (!isNode) throw new Error("it runs in Node only");
  const { default: ort } = await import("onnxruntime-node");
  const options = { executionProviders: ["cpu"], intraOpNumThreads: 1, interOpNumThreads: 1 };
  return { forms: (problem) => onnxForms(ort, options, problem) };
}
