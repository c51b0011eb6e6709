import { ACTIVATION_NAMES } from "../activations.js";
import { count, empty, flag, only, positive, sameAs, word } from "../configField.js";
import { ALL_BIASES, ENCODER, USUAL_SIZES, yes, type Family } from "../family.js";

/**
 * BERT (Devlin et al. 2018, arXiv:1810.04805): learned positions, kinds of tokens, norms after attention and feed-forward
 * blocks, attention to all tokens.
 *
 *     x ← norm₁(x + attention(x))
 *     x ← norm₂(x + down(activation(up(x))))
 */
export const BERT: Family = {
  className: "Bert",
  fields: {
    ...USUAL_SIZES,
    maxLength: count("max_position_embeddings", 512),
    activation: word("hidden_act", ACTIVATION_NAMES, "gelu"),
    epsilon: positive("layer_norm_eps", 1e-12),
    isTied: flag("tie_word_embeddings", true),
  },
  fixed: [
    ...ENCODER,
    only("position_embedding_type", "absolute"),
    // TinyBERT says how it was made
    sameAs("emb_size", { name: "hidden_size", absent: 768 }),
    ...[empty("cell"), empty("structure"), only("training", ""), only("pre_trained", "")],
  ],
  prefix: "bert.",
  isCausal: false,
  norm: { kind: "layer" },
  embeddings: {
    words: "bert.embeddings.word_embeddings",
    positions: { name: "bert.embeddings.position_embeddings" },
    kinds: { name: "bert.embeddings.token_type_embeddings", count: count("type_vocab_size", 2) },
    norm: "bert.embeddings.LayerNorm",
  },
  blocks: "bert.encoder.layer",
  attention: {
    hook: "attention",
    norms: { closing: "attention.output.LayerNorm" },
    inputs: ["attention.self.query", "attention.self.key", "attention.self.value"],
    output: "attention.output.dense",
    biases: ALL_BIASES,
  },
  feedForward: {
    norms: { closing: "output.LayerNorm" },
    inputs: { up: "intermediate.dense" },
    down: "output.dense",
    bias: yes,
  },
  heads: {
    classes: ["Model", "ForMaskedLM", "ForPreTraining", "LMHeadModel"],
    words: {
      dense: { name: "cls.predictions.transform.dense" },
      norm: "cls.predictions.transform.LayerNorm",
      decoder: "cls.predictions.decoder",
      bias: "cls.predictions.bias",
    },
    pooler: "bert.pooler.dense",
    sequence: { dense: { name: "bert.pooler.dense", activation: "tanh" }, decoder: "classifier" },
    tokens: { decoder: "classifier" },
  },
};
