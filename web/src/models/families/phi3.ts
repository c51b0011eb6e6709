import { count, only, optional, positive } from "../configField.js";
import { lengthOf, stopTokens, type Family } from "../family.js";
import { rotaryPosition } from "../rotaryField.js";
import { LLAMA } from "./llama.js";
import { MISTRAL } from "./mistral.js";

/** As transformers reads older files: they call longrope "su" or "yarn", and were trained with 4096 tokens. */
const LONGROPE = { names: ["su", "yarn"], originalLength: 4096 };

/** Phi-3 (Abdin et al. 2024, arXiv:2404.14219): Llama with packed matrices, and a part of each head that turns. */
export const PHI3: Family = {
  ...MISTRAL,
  className: "Phi3",
  fields: {
    ...LLAMA.fields,
    maxLength: lengthOf(4096),
    epsilon: positive("rms_norm_eps", 1e-5),
    stopTokens: stopTokens(32000),
  },
  fixed: [
    ...MISTRAL.fixed,
    only("lm_head_bias", false),
    only("interpolate_factor", 1),
    only("full_attn_mod", 1),
    (json) => json.value("original_max_position_embeddings"), // only longrope uses it
  ],
  attention: {
    ...MISTRAL.attention,
    inputs: { packed: "self_attn.qkv_proj", by: "roles" },
    rotary: (json, form) =>
      rotaryPosition(json, { ...form, part: { name: "partial_rotary_factor", absent: 1 }, longrope: LONGROPE }),
    window: optional("sliding_window", count("sliding_window")),
  },
  feedForward: { ...MISTRAL.feedForward, inputs: { packed: "mlp.gate_up_proj" } },
};
