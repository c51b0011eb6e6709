import type { Settings } from "./settings.js";

/** Masks of known models. */
export const PRESETS: Readonly<Record<string, Partial<Settings>>> = {
  "BERT, padded": { queries: 24, keys: 24, keyLength: 17, heads: 2, kvHeads: 2 },
  GPT: { queries: 24, keys: 24, keyLength: 24, causal: "lower-right", heads: 2, kvHeads: 2 },
  "GPT, next tokens": { queries: 6, keys: 24, keyLength: 24, causal: "lower-right", heads: 2, kvHeads: 2 },
  Mistral: { queries: 24, keys: 24, keyLength: 24, causal: "lower-right", left: 7, heads: 4, kvHeads: 2 },
  BLOOM: { queries: 24, keys: 24, keyLength: 24, causal: "lower-right", alibi: true, heads: 4, kvHeads: 4 },
  "Gemma 2": {
    queries: 24,
    keys: 24,
    keyLength: 24,
    causal: "lower-right",
    softcap: 50,
    left: 11,
    heads: 4,
    kvHeads: 2,
  },
  "gpt-oss": { queries: 24, keys: 24, keyLength: 24, causal: "lower-right", left: 7, sink: 1, heads: 4, kvHeads: 1 },
  Longformer: { queries: 24, keys: 24, keyLength: 24, left: 4, right: 4, heads: 2, kvHeads: 2 },
};
