import { only } from "../configField.js";
import { ENCODER, type Family } from "../family.js";
import { ROBERTA } from "./roberta.js";

/** MPNet (Song et al. 2020, arXiv:2004.09297): RoBERTa without kinds of tokens, with learned biases of scores by distance. */
export const MPNET: Family = {
  ...ROBERTA,
  className: "MPNet",
  fixed: [...ENCODER, only("position_embedding_type", "absolute"), (json) => json.value("pad_token_id")],
  prefix: "mpnet.",
  embeddings: {
    words: "mpnet.embeddings.word_embeddings",
    positions: {
      name: "mpnet.embeddings.position_embeddings",
      counted: { zero: () => 1, counts: "others", isOfRows: true }, // 1 whatever pad_token_id says
    },
    norm: "mpnet.embeddings.LayerNorm",
  },
  blocks: "mpnet.encoder.layer",
  attention: {
    ...ROBERTA.attention,
    norms: { closing: "attention.LayerNorm" },
    inputs: ["attention.attn.q", "attention.attn.k", "attention.attn.v"],
    output: "attention.attn.o",
    distances: {
      name: "mpnet.encoder.relative_attention_bias",
      rows: { name: "relative_attention_num_buckets", absent: 32 },
    },
  },
  heads: { ...ROBERTA.heads, pooler: "mpnet.pooler.dense" },
};
