import { ACTIVATION_NAMES } from "../activations.js";
import { count, flag, MOST_BLOCKS, optional, positive, sameAs, word } from "../configField.js";
import { ALL_BIASES, DECODER, DECODER_CLASSES, stopTokens, yes, type Family } from "../family.js";

const isScaled = flag("scale_attn_weights", true);
const isScaledByLayer = flag("scale_attn_by_inverse_layer_idx", false);

/**
 * GPT-2 (Radford et al. 2019): learned positions, norms before attention and feed-forward blocks, causal attention.
 *
 *     x ← x + attention(norm₁(x))
 *     x ← x + down(activation(up(norm₂(x))))
 */
export const GPT2: Family = {
  className: "GPT2",
  fields: {
    vocabSize: count("vocab_size"),
    modelDim: count("n_embd"),
    hiddenDim: optional("n_inner", count("n_inner")),
    numLayers: count("n_layer", undefined, MOST_BLOCKS),
    numHeads: count("n_head"),
    maxLength: count("n_positions", 1024),
    activation: word("activation_function", ACTIVATION_NAMES, "gelu_new"),
    epsilon: positive("layer_norm_epsilon", 1e-5),
    isTied: flag("tie_word_embeddings", true),
    stopTokens: stopTokens(50256),
  },
  // transformers knows them by both names
  fixed: [
    ...DECODER,
    sameAs("hidden_size", { name: "n_embd", absent: 768 }),
    sameAs("num_hidden_layers", { name: "n_layer", absent: 12 }),
    sameAs("num_attention_heads", { name: "n_head", absent: 12 }),
    sameAs("max_position_embeddings", { name: "n_positions", absent: 1024 }),
  ],
  prefix: "transformer.",
  isCausal: true,
  norm: { kind: "layer" },
  weightLayout: "in-out",
  embeddings: { words: "transformer.wte", positions: { name: "transformer.wpe" } },
  blocks: "transformer.h",
  attention: {
    hook: "attn",
    norms: { before: "ln_1" },
    inputs: { packed: "attn.c_attn", by: "roles" },
    output: "attn.c_proj",
    biases: ALL_BIASES,
    scale: (json, { layer }, headDim) =>
      (isScaled(json) ? 1 / Math.sqrt(headDim) : 1) / (isScaledByLayer(json) ? layer + 1 : 1),
  },
  feedForward: {
    norms: { before: "ln_2" },
    inputs: { up: "mlp.c_fc" },
    down: "mlp.c_proj",
    bias: yes,
  },
  lastNorm: "transformer.ln_f",
  heads: { classes: DECODER_CLASSES, words: { decoder: "lm_head", bias: false } },
};
