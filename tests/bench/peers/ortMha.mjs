import { open as openAny } from "./ortWeb.mjs";

/** ONNX Runtime Web with its MultiHeadAttention only, even if another of its operators is faster. */
export async function open(options) {
  const { forms } = await openAny(options);
  return { forms: (problem) => forms(problem).filter(({ form }) => form === "MultiHeadAttention") };
}
