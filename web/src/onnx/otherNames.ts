import type { OtherName } from "../read/otherNames.js";

/** Names for the inputs of the operators. */
const INPUTS: readonly OtherName[] = [
  ["query", "Q"],
  ["key", "K"],
  ["value", "V"],
  ["mask", "attn_mask"],
  ["attention_mask", "attn_mask", "Its shape becomes [B, 1, 1, S]."],
  ["bias", "attn_mask"],
  ["attention_bias", "attn_mask"],
  ["key_padding_mask", "attn_mask", "true = may attend, and its shape becomes [B, 1, 1, S]."],
  ["keyLengths", "nonpad_kv_seqlen"],
  ["seqlens_k", "nonpad_kv_seqlen", "It is the index of the last key: nonpad_kv_seqlen is one more."],
  ["input", "X"],
  ["x", "input"],
  ["cos", "cos_cache"],
  ["sin", "sin_cache"],
  ["positions", "position_ids"],
];

/** Names for their attributes. */
const ATTRIBUTES: readonly OtherName[] = [
  ["causal", "is_causal"],
  ["unidirectional", "is_causal"],
  ["num_heads", "q_num_heads"],
  ["num_kv_heads", "kv_num_heads"],
  ["window", "left_window_size", "The other side is right_window_size."],
  ["local_window_size", "left_window_size", "ONNX Runtime's w is left_window_size w - 1 and right_window_size 0."],
  ["rotaryDim", "rotary_embedding_dim"],
  ["dim", "axis"],
];

export const OPERATOR_OTHERS = { inputs: INPUTS, attributes: ATTRIBUTES } as const;
