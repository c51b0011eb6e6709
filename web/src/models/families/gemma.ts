import { ACTIVATION_NAMES, type ActivationName } from "../activations.js";
import { count, flag, only, optional, word, type Field } from "../configField.js";
import { kvHeads, lengthOf, stopTokens, type Family } from "../family.js";
import { LLAMA, PLAIN_FEED_FORWARD } from "./llama.js";

/** `hidden_activation`; the first files have the tanh form of GELU under `hidden_act`, as "gelu". */
const activation: Field<ActivationName> = (json) => {
  const older = word("hidden_act", ACTIVATION_NAMES, "gelu_pytorch_tanh")(json);
  const newer = optional("hidden_activation", word("hidden_activation", ACTIVATION_NAMES))(json);
  return newer ?? (older === "gelu" ? "gelu_pytorch_tanh" : older);
};

/**
 * Gemma (Gemma Team 2024, arXiv:2403.08295): Llama whose gains are stored less 1, with rows of words times √modelDim.
 */
export const GEMMA: Family = {
  ...LLAMA,
  className: "Gemma",
  fields: {
    ...LLAMA.fields,
    numKvHeads: kvHeads(16),
    headDim: count("head_dim", 256),
    maxLength: lengthOf(8192),
    activation,
    isTied: flag("tie_word_embeddings", true),
    stopTokens: stopTokens(1),
  },
  fixed: [...LLAMA.fixed, only("use_bidirectional_attention", false)],
  norm: { kind: "rms", plus: 1 },
  embeddings: { words: "model.embed_tokens", factor: Math.sqrt },
  feedForward: PLAIN_FEED_FORWARD,
};
