import { ACTIVATION_NAMES } from "../activations.js";
import { count, flag, only, positive, word, type Json } from "../configField.js";
import { ENCODER, USUAL_SIZES, type Dense, type Family, type LayerPlace } from "../family.js";
import { rotaryByKind } from "../rotaryField.js";
import { isSliding } from "../windowField.js";

const isLocal = (json: Json, place: LayerPlace) => {
  const every = count("global_attn_every_n_layers", 3)(json);
  return isSliding(json, place, () => place.layer % every !== 0);
};

const WHOLE = { name: "global_rope_theta", absent: 160000 };

/** The base of layers that see near tokens: written as null, it is that of the others. */
const nearBase = (json: Json) => ({
  name: "local_rope_theta",
  absent: json.isNull("local_rope_theta") ? positive(WHOLE.name, WHOLE.absent)(json) : 10000,
});

const pooling = word("classifier_pooling", ["cls", "mean"], "cls");
const dense: Dense = { name: "head.dense", activation: "gelu", bias: flag("classifier_bias", false) };
const labels = { dense, norm: "head.norm", decoder: "classifier" };

/**
 * ModernBERT (Warner et al. 2024, arXiv:2412.13663): rotary positions, norms before both halves of a block, packed gates; two
 * of three layers see only near tokens, and turn with a base of their own.
 */
export const MODERNBERT: Family = {
  className: "ModernBert",
  fields: {
    ...USUAL_SIZES,
    maxLength: count("max_position_embeddings", 8192),
    activation: word("hidden_activation", ACTIVATION_NAMES, "gelu"),
    epsilon: positive("norm_eps", 1e-5),
    isTied: flag("tie_word_embeddings", true),
  },
  fixed: [
    ...ENCODER,
    (json) => json.value("position_embedding_type"), // every ModernBERT turns
    only("rope_scaling", undefined),
    (json) => json.value("layer_norm_eps"), // norm_eps decides
    only("classifier_activation", "gelu"),
    only("decoder_bias", true),
    pooling,
    flag("classifier_bias", false),
  ],
  prefix: "model.",
  isCausal: false,
  norm: { kind: "layer", bias: flag("norm_bias", false) },
  embeddings: { words: "model.embeddings.tok_embeddings", norm: "model.embeddings.norm" },
  blocks: "model.layers",
  attention: {
    hook: "attn",
    norms: { before: "attn_norm" },
    isFirstBare: true,
    inputs: { packed: "attn.Wqkv", by: "roles" },
    output: "attn.Wo",
    biases: (json) => {
      const given = flag("attention_bias", false)(json);
      return { input: given, output: given };
    },
    rotary: (json, form, place) =>
      rotaryByKind(json, form, isLocal(json, place), { whole: WHOLE, near: nearBase(json) }),
    window: (json, place) => {
      const width = count("local_attention", 128)(json);
      return isLocal(json, place) ? Math.floor(width / 2) + 1 : undefined;
    },
  },
  feedForward: {
    norms: { before: "mlp_norm" },
    inputs: { packed: "mlp.Wi" },
    down: "mlp.Wo",
    bias: flag("mlp_bias", false),
  },
  lastNorm: "model.final_norm",
  heads: {
    classes: ["Model", "ForMaskedLM"],
    words: { dense, norm: "head.norm", decoder: "decoder", bias: "decoder.bias" },
    sequence: { ...labels, pooling },
    tokens: labels,
  },
};
