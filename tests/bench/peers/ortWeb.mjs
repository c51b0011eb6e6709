import { onnxForms } from "./onnx.mjs";

const FOLDER = "tests/bench/node_modules/onnxruntime-web/dist";

/** ONNX Runtime Web's wasm engine. */
export async function open({ threads, locate, isNode }) {
  const ort = await import(locate(`${FOLDER}/${isNode ? "ort.node.min.mjs" : "ort.wasm.min.mjs"}`));
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = "error";
  if (!isNode) ort.env.wasm.wasmPaths = locate(`${FOLDER}/`);
  return { forms: (problem) => onnxForms(ort, { executionProviders: ["wasm"] }, problem) };
}
