import { ACTIVATION_NAMES } from "../activations.js";
import { count, flag, MOST_BLOCKS, optional, positive, sameAs, word } from "../configField.js";
import { DECODER, DECODER_CLASSES, stopTokens, yes, type Family } from "../family.js";
import { attentionTypes } from "../windowField.js";

/** GPT-Neo (Black et al. 2021, doi:10.5281/zenodo.5297715): GPT-2 without a factor of scores, with windows in some layers. */
export const GPT_NEO: Family = {
  className: "GPTNeo",
  fields: {
    vocabSize: count("vocab_size"),
    modelDim: count("hidden_size"),
    hiddenDim: optional("intermediate_size", count("intermediate_size")),
    numLayers: count("num_layers", undefined, MOST_BLOCKS),
    numHeads: count("num_heads"),
    maxLength: count("max_position_embeddings", 2048),
    activation: word("activation_function", ACTIVATION_NAMES, "gelu_new"),
    epsilon: positive("layer_norm_epsilon", 1e-5),
    isTied: flag("tie_word_embeddings", true),
    stopTokens: stopTokens(50256),
  },
  // transformers knows them by both names
  fixed: [
    ...DECODER,
    sameAs("num_hidden_layers", { name: "num_layers", absent: 24 }),
    sameAs("num_attention_heads", { name: "num_heads", absent: 16 }),
  ],
  prefix: "transformer.",
  isCausal: true,
  norm: { kind: "layer" },
  embeddings: { words: "transformer.wte", positions: { name: "transformer.wpe" } },
  blocks: "transformer.h",
  attention: {
    hook: "attn",
    norms: { before: "ln_1" },
    inputs: ["attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"],
    output: "attn.attention.out_proj",
    biases: () => ({ input: false, output: true }),
    scale: () => 1,
    window: (json, place) => {
      const window = count("window_size", 256)(json);
      return attentionTypes(json, place) === "local" ? window : undefined;
    },
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
