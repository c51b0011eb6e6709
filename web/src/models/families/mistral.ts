import { only } from "../configField.js";
import { kvHeads, lengthOf, type Family } from "../family.js";
import { windowOf } from "../windowField.js";
import { LLAMA, PLAIN_FEED_FORWARD } from "./llama.js";

const { biases: _, ...attention } = LLAMA.attention;

/** Mistral (Jiang et al. 2023, arXiv:2310.06825): Llama with a window, without biases. */
export const MISTRAL: Family = {
  ...LLAMA,
  className: "Mistral",
  fields: { ...LLAMA.fields, numKvHeads: kvHeads(8), maxLength: lengthOf(2 ** 17) },
  fixed: [...LLAMA.fixed, only("attention_bias", false), only("mlp_bias", false)],
  attention: { ...attention, window: (json) => windowOf(json) },
  feedForward: PLAIN_FEED_FORWARD,
};
