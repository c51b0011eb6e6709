import { count, index } from "../configField.js";
import type { Family } from "../family.js";
import { BERT } from "./bert.js";

/**
 * RoBERTa (Liu et al. 2019, arXiv:1907.11692) and XLM-RoBERTa (Conneau et al. 2019, arXiv:1911.02116): BERT, whose positions
 * count the tokens of a text from the row after that of the filling token.
 */
export const ROBERTA: Family = {
  ...BERT,
  className: "Roberta",
  prefix: "roberta.",
  embeddings: {
    words: "roberta.embeddings.word_embeddings",
    positions: {
      name: "roberta.embeddings.position_embeddings",
      counted: { zero: index("pad_token_id", 1), counts: "others", isOfRows: true },
    },
    kinds: { name: "roberta.embeddings.token_type_embeddings", count: count("type_vocab_size", 2) },
    norm: "roberta.embeddings.LayerNorm",
  },
  blocks: "roberta.encoder.layer",
  heads: {
    classes: ["Model", "ForMaskedLM"],
    words: {
      dense: { name: "lm_head.dense", activation: "gelu" },
      norm: "lm_head.layer_norm",
      decoder: "lm_head.decoder",
      bias: "lm_head.bias",
    },
    pooler: "roberta.pooler.dense",
    sequence: { dense: { name: "classifier.dense", activation: "tanh" }, decoder: "classifier.out_proj" },
    tokens: { decoder: "classifier" },
  },
};

export const XLM_ROBERTA: Family = { ...ROBERTA, className: "XLMRoberta" };
