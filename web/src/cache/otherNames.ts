import { HEADS, type OtherName } from "../read/otherNames.js";

/** Names for kvCache. */
export const CACHE_OTHERS: readonly OtherName[] = [
  ...HEADS,
  ["max_position_embeddings", "capacity"],
  ["max_cache_len", "capacity"],
  ["max_batch_size", "batchSize"],
  ["sliding_window", "ring", "It is ring: { window }."],
  ["value_dim", "valueDim"],
  ["rope_theta", "rotary", "It is rotary: { base }."],
  ["rope_scaling", "rotary", "It is rotary: { scaling }."],
  ["partial_rotary_factor", "rotary", "It is rotary: { rotaryDim }."],
];
