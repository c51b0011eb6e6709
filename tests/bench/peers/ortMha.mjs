import { open as openAny } from "./ortWeb.mjs";

/** ONNX Runtime Web held to its MultiHeadAttention, also where another of its operators is faster. */
export async function open(options) {
  const { forms } = await openAny(options);
  return { forms: (problem) => forms(problem).filter(({ form }) => form === "MultiHeadAttention") };
}
