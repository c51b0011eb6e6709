import { ACTIVATION_NAMES } from "../activations.js";
import { count, flag, positive, sameAs, word } from "../configField.js";
import { DECODER, DECODER_CLASSES, stopTokens, USUAL_SIZES, yes, type Family } from "../family.js";
import { rotaryPosition } from "../rotaryField.js";

const PART = { name: "rotary_pct", absent: 0.25 };
const BASE = { name: "rotary_emb_base", absent: 10000 };

/**
 * GPT-NeoX (Black et al. 2022, arXiv:2204.06745) and Pythia (Biderman et al. 2023, arXiv:2304.01373): a part of each head
 * turns, and both halves of a block read the same x.
 *
 *     x ← x + attention(norm₁(x)) + down(activation(up(norm₂(x))))
 */
export const GPT_NEOX: Family = {
  className: "GPTNeoX",
  fields: {
    ...USUAL_SIZES,
    maxLength: count("max_position_embeddings", 2048),
    activation: word("hidden_act", ACTIVATION_NAMES, "gelu"),
    epsilon: positive("layer_norm_eps", 1e-5),
    isTied: flag("tie_word_embeddings", false),
    stopTokens: stopTokens(2),
  },
  fixed: [
    ...DECODER,
    // some versions of transformers write both names
    sameAs("rope_theta", BASE),
    sameAs("partial_rotary_factor", PART),
  ],
  prefix: "gpt_neox.",
  isCausal: true,
  norm: { kind: "layer" },
  embeddings: { words: "gpt_neox.embed_in" },
  blocks: "gpt_neox.layers",
  attention: {
    hook: "attention",
    norms: { before: "input_layernorm" },
    inputs: { packed: "attention.query_key_value", by: "heads" },
    output: "attention.dense",
    biases: (json) => {
      const given = flag("attention_bias", true)(json);
      return { input: given, output: given };
    },
    rotary: (json, form) => rotaryPosition(json, { ...form, part: PART, base: BASE }),
  },
  feedForward: {
    norms: { before: "post_attention_layernorm" },
    inputs: { up: "mlp.dense_h_to_4h" },
    down: "mlp.dense_4h_to_h",
    bias: yes,
  },
  isParallel: flag("use_parallel_residual", true),
  lastNorm: "gpt_neox.final_layer_norm",
  heads: { classes: DECODER_CLASSES, words: { decoder: "embed_out", bias: false } },
};
