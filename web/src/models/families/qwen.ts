import { count, only } from "../configField.js";
import { kvHeads, lengthOf, stopTokens, type Family } from "../family.js";
import { laterLayersOnly } from "../windowField.js";
import { LLAMA, PLAIN_FEED_FORWARD } from "./llama.js";

/** Qwen 3 (Yang et al. 2025, arXiv:2505.09388): Llama with norms of every head's queries and keys. */
export const QWEN3: Family = {
  ...LLAMA,
  className: "Qwen3",
  fields: {
    ...LLAMA.fields,
    numKvHeads: kvHeads(32),
    headDim: count("head_dim", 128),
    maxLength: lengthOf(2 ** 15),
    stopTokens: stopTokens(),
  },
  fixed: [...LLAMA.fixed, only("mlp_bias", false)],
  attention: {
    ...LLAMA.attention,
    headNorms: ["self_attn.q_norm", "self_attn.k_norm"],
    window: laterLayersOnly,
  },
  feedForward: PLAIN_FEED_FORWARD,
};

const { headNorms: _, ...attention } = QWEN3.attention;

/** Qwen 2 (Yang et al. 2024, arXiv:2407.10671): Llama with biases of queries, keys and values. */
export const QWEN2: Family = {
  ...QWEN3,
  className: "Qwen2",
  fields: { ...QWEN3.fields, headDim: LLAMA.fields.headDim! },
  fixed: [
    ...QWEN3.fixed,
    (json) => json.value("attention_bias"), // transformers ignores it
    only("use_mrope", false),
  ],
  attention: { ...attention, biases: () => ({ input: true, output: false }) },
};
