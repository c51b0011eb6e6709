import { ACTIVATION_NAMES } from "../activations.js";
import { count, flag, only, optional, positive, word, type Field } from "../configField.js";
import {
  DECODER,
  DECODER_CLASSES,
  lengthOf,
  no,
  stopTokens,
  USUAL_SIZES,
  type Biases,
  type Family,
} from "../family.js";
import { rotaryPosition } from "../rotaryField.js";

/** `attention_bias`: all four maps have biases. */
export const attentionBias: Field<Biases> = (json) => {
  const given = flag("attention_bias", false)(json);
  return { input: given, output: given };
};

/**
 * Llama (Touvron et al. 2023, arXiv:2302.13971): rotary positions, RMS norms before attention and feed-forward blocks, gated
 * feed-forward blocks (Shazeer 2020, arXiv:2002.05202), causal attention with grouped heads.
 *
 *     x ← x + attention(norm₁(x))
 *     x ← x + down(activation(gate(norm₂(x))) · up(norm₂(x)))
 */
export const LLAMA: Family = {
  className: "Llama",
  fields: {
    ...USUAL_SIZES,
    numKvHeads: optional("num_key_value_heads", count("num_key_value_heads")),
    headDim: optional("head_dim", count("head_dim")),
    maxLength: lengthOf(2048),
    activation: word("hidden_act", ACTIVATION_NAMES, "silu"),
    epsilon: positive("rms_norm_eps", 1e-6),
    isTied: flag("tie_word_embeddings", false),
    stopTokens: stopTokens(2),
  },
  fixed: [...DECODER, only("rope_interleaved", false)],
  prefix: "model.",
  isCausal: true,
  norm: { kind: "rms" },
  embeddings: { words: "model.embed_tokens" },
  blocks: "model.layers",
  attention: {
    hook: "self_attn",
    norms: { before: "input_layernorm" },
    inputs: ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    output: "self_attn.o_proj",
    biases: attentionBias,
    rotary: rotaryPosition,
  },
  feedForward: {
    norms: { before: "post_attention_layernorm" },
    inputs: { gate: "mlp.gate_proj", up: "mlp.up_proj" },
    down: "mlp.down_proj",
    bias: flag("mlp_bias", false),
  },
  lastNorm: "model.norm",
  heads: { classes: DECODER_CLASSES, words: { decoder: "lm_head", bias: false } },
};

/** Llama's feed-forward block without biases. */
export const PLAIN_FEED_FORWARD = { ...LLAMA.feedForward, bias: no };
