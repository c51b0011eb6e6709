import { count, optional, positive, type Json } from "../configField.js";
import { DECODER_CLASSES, lengthOf, type Family, type LayerPlace } from "../family.js";
import { rotaryByKind } from "../rotaryField.js";
import { isSliding, windowOf } from "../windowField.js";
import { GEMMA2 } from "./gemma2.js";

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
  fields: { ...GEMMA2.fields, maxLength: lengthOf(2 ** 17) },
  attention: {
    ...GEMMA2.attention,
    headNorms: ["self_attn.q_norm", "self_attn.k_norm"],
    softcap: optional("attn_logit_softcapping", positive("attn_logit_softcapping")),
    window: (json, place) => {
      const window = windowOf(json);
      return isLocal(json, place) ? window : undefined;
    },
    rotary: (json, form, place) =>
      rotaryByKind(json, form, isLocal(json, place), {
        whole: { name: "rope_theta", absent: 1e6 },
        near: { name: "rope_local_base_freq", absent: 10000 },
      }),
  },
  heads: {
    classes: [...DECODER_CLASSES, "TextModel"],
    words: {
      decoder: "lm_head",
      bias: false,
      softcap: optional("final_logit_softcapping", positive("final_logit_softcapping")),
    },
  },
};
