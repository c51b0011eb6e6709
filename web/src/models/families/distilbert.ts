import { ACTIVATION_NAMES } from "../activations.js";
import { count, flag, MOST_BLOCKS, sameAs, word } from "../configField.js";
import { ALL_BIASES, ENCODER, yes, type Family } from "../family.js";

/** DistilBERT (Sanh et al. 2019, arXiv:1910.01108): BERT without kinds of tokens and without a pooler. */
export const DISTILBERT: Family = {
  className: "DistilBert",
  fields: {
    vocabSize: count("vocab_size"),
    modelDim: count("dim"),
    hiddenDim: count("hidden_dim"),
    numLayers: count("n_layers", undefined, MOST_BLOCKS),
    numHeads: count("n_heads"),
    maxLength: count("max_position_embeddings", 512),
    activation: word("activation", ACTIVATION_NAMES, "gelu"),
    epsilon: () => 1e-12,
    isTied: flag("tie_word_embeddings", true),
  },
  // the files have the table of positions, whatever it was at first; tie_weights_ is an older note
  fixed: [
    ...ENCODER,
    ...[flag("sinusoidal_pos_embds", false), flag("tie_weights_", true)],
    // transformers knows them by both names
    sameAs("hidden_size", { name: "dim", absent: 768 }),
    sameAs("num_hidden_layers", { name: "n_layers", absent: 6 }),
    sameAs("num_attention_heads", { name: "n_heads", absent: 12 }),
  ],
  prefix: "distilbert.",
  isCausal: false,
  norm: { kind: "layer" },
  embeddings: {
    words: "distilbert.embeddings.word_embeddings",
    positions: { name: "distilbert.embeddings.position_embeddings" },
    norm: "distilbert.embeddings.LayerNorm",
  },
  blocks: "distilbert.transformer.layer",
  attention: {
    hook: "attention",
    norms: { closing: "sa_layer_norm" },
    inputs: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
    output: "attention.out_lin",
    biases: ALL_BIASES,
  },
  feedForward: {
    norms: { closing: "output_layer_norm" },
    inputs: { up: "ffn.lin1" },
    down: "ffn.lin2",
    bias: yes,
  },
  heads: {
    classes: ["Model", "ForMaskedLM"],
    words: {
      dense: { name: "vocab_transform" },
      norm: "vocab_layer_norm",
      decoder: "vocab_projector",
      bias: "vocab_projector.bias",
    },
    sequence: { dense: { name: "pre_classifier", activation: "relu" }, decoder: "classifier" },
    tokens: { decoder: "classifier" },
  },
};
