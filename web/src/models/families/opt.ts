import { ACTIVATION_NAMES } from "../activations.js";
import { count, flag, MOST_BLOCKS, only, refuse, word, type Field } from "../configField.js";
import { DECODER, DECODER_CLASSES, stopTokens, type Family } from "../family.js";

const hasBiases = flag("enable_bias", true);

/** `word_embed_proj_dim`: rows of words are as wide as the model. */
const wordWidth: Field<void> = (json) => {
  const width = count("hidden_size")(json);
  if (count("word_embed_proj_dim", width)(json) !== width)
    throw refuse(json, "word_embed_proj_dim", `be hidden_size, which is ${width}`);
};

/** OPT (Zhang et al. 2022, arXiv:2205.01068): GPT-2 with positions that count the tokens that the mask shows, from row 2. */
export const OPT: Family = {
  className: "OPT",
  fields: {
    vocabSize: count("vocab_size"),
    modelDim: count("hidden_size"),
    hiddenDim: count("ffn_dim"),
    numLayers: count("num_hidden_layers", undefined, MOST_BLOCKS),
    numHeads: count("num_attention_heads"),
    maxLength: count("max_position_embeddings", 2048),
    activation: word("activation_function", ACTIVATION_NAMES, "relu"),
    epsilon: () => 1e-5,
    isTied: flag("tie_word_embeddings", true),
    stopTokens: stopTokens(2),
  },
  fixed: [
    ...DECODER,
    wordWidth,
    only("do_layer_norm_before", true),
    only("layer_norm_elementwise_affine", true),
    only("_remove_final_layer_norm", false),
  ],
  prefix: "model.",
  isCausal: true,
  norm: { kind: "layer" },
  embeddings: {
    words: "model.decoder.embed_tokens",
    positions: {
      name: "model.decoder.embed_positions",
      counted: { zero: () => 1, counts: "shown", isOfRows: false },
    },
  },
  blocks: "model.decoder.layers",
  attention: {
    hook: "self_attn",
    norms: { before: "self_attn_layer_norm" },
    inputs: ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    output: "self_attn.out_proj",
    biases: (json) => ({ input: hasBiases(json), output: hasBiases(json) }),
  },
  feedForward: { norms: { before: "final_layer_norm" }, inputs: { up: "fc1" }, down: "fc2", bias: hasBiases },
  lastNorm: "model.decoder.final_layer_norm",
  heads: { classes: DECODER_CLASSES, words: { decoder: "lm_head", bias: false } },
};
