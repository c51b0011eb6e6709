import { ACTIVATION_NAMES, type ActivationName } from "../activations.js";
import { count, flag, only, optional, positive, word, type Field, type Json } from "../configField.js";
import { DECODER_CLASSES, type Family, type LayerPlace } from "../family.js";
import { rotaryPosition } from "../rotaryField.js";
import { isSliding, windowOf } from "../windowField.js";
import { LLAMA, lengthOf, PLAIN_FEED_FORWARD } from "./llama.js";

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
    headDim: count("head_dim", 256),
    maxLength: lengthOf(8192),
    activation,
    isTied: flag("tie_word_embeddings", true),
  },
  fixed: [...LLAMA.fixed, only("use_bidirectional_attention", false)],
  norm: { kind: "rms", plus: 1 },
  embeddings: { words: "model.embed_tokens", factor: Math.sqrt },
  feedForward: PLAIN_FEED_FORWARD,
};

/**
 * Gemma 2 (Gemma Team 2024, arXiv:2408.00118): norms around both halves, soft limits of scores, and a window in every second
 * layer.
 *
 *     x ← x + after(part(before(x)))
 */
export const GEMMA2: Family = {
  ...GEMMA,
  className: "Gemma2",
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

/** Whether a layer has a window: five of six, if `layer_types` does not say it. */
function isLocal(json: Json, place: LayerPlace): boolean {
  const pattern = count("sliding_window_pattern", count("_sliding_window_pattern", 6)(json))(json);
  return isSliding(json, place, () => (place.layer + 1) % pattern !== 0);
}

/**
 * Gemma 3 (Gemma Team 2025, arXiv:2503.19786), for text: norms of every head's queries and keys instead of soft limits; five
 * of six layers have a window, and turn with a base of their own.
 */
export const GEMMA3: Family = {
  ...GEMMA2,
  className: "Gemma3",
  fields: { ...GEMMA.fields, maxLength: lengthOf(2 ** 17) },
  attention: {
    ...GEMMA2.attention,
    headNorms: ["self_attn.q_norm", "self_attn.k_norm"],
    softcap: optional("attn_logit_softcapping", positive("attn_logit_softcapping")),
    window: (json, place) => {
      const window = windowOf(json);
      return isLocal(json, place) ? window : undefined;
    },
    rotary: (json, form, place) => {
      const whole = rotaryPosition(json, { ...form, base: { name: "rope_theta", absent: 1e6 } });
      const base = positive("rope_local_base_freq", 10000)(json);
      return isLocal(json, place) ? { kind: "rotary", base } : whole;
    },
  },
  heads: {
    classes: DECODER_CLASSES,
    words: {
      decoder: "lm_head",
      bias: false,
      softcap: optional("final_logit_softcapping", positive("final_logit_softcapping")),
    },
  },
};
