import { onnxForms } from "./onnx.mjs";

/** ONNX Runtime outside the browser, always on one thread. */
export async function open({ isNode }) {
  if (!isNode) throw new Error("it runs in Node only");
  const { default: ort } = await import("onnxruntime-node");
  const options = { executionProviders: ["cpu"], intraOpNumThreads: 1, interOpNumThreads: 1 };
  return { forms: (problem) => onnxForms(ort, options, problem) };
}
