import { ACTIVATION_NAMES } from "../activations.js";
import { positive, sameAs, word } from "../configField.js";
import { DECODER_CLASSES, kvHeads, type Family } from "../family.js";
import { isSliding, windowOf } from "../windowField.js";
import { GEMMA } from "./gemma.js";
import { LLAMA, PLAIN_FEED_FORWARD } from "./llama.js";

/**
 * Gemma 2 (Gemma Team 2024, arXiv:2408.00118): norms around both halves, soft limits of scores, and a window in every second
 * layer.
 *
 *     x ← x + after(part(before(x)))
 */
export const GEMMA2: Family = {
  ...GEMMA,
  className: "Gemma2",
  fields: {
    ...GEMMA.fields,
    numKvHeads: kvHeads(4),
    activation: word("hidden_activation", ACTIVATION_NAMES, "gelu_pytorch_tanh"),
  },
  fixed: [
    ...GEMMA.fixed,
    (json) => json.value("hidden_act"), // hidden_activation decides
    sameAs("sliding_window_size", { name: "sliding_window", absent: 4096 }),
  ],
  attention: {
    ...LLAMA.attention,
    norms: { before: "input_layernorm", after: "post_attention_layernorm" },
    scale: (json) => positive("query_pre_attn_scalar", 256)(json) ** -0.5,
    // null means no limit
    softcap: (json) =>
      json.isNull("attn_logit_softcapping") ? undefined : positive("attn_logit_softcapping", 50)(json),
    window: (json, place) => {
      const window = windowOf(json);
      return isSliding(json, place, () => place.layer % 2 === 0) ? window : undefined;
    },
  },
  feedForward: {
    ...PLAIN_FEED_FORWARD,
    norms: { before: "pre_feedforward_layernorm", after: "post_feedforward_layernorm" },
  },
  heads: {
    classes: DECODER_CLASSES,
    words: {
      decoder: "lm_head",
      bias: false,
      softcap: (json) =>
        json.isNull("final_logit_softcapping") ? undefined : positive("final_logit_softcapping", 30)(json),
    },
  },
};
