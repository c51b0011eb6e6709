import type { OtherName } from "../read/otherNames.js";

/** Names for the angles of a rotary embedding. */
export const ANGLE_OTHERS: readonly OtherName[] = [
  ["rope_theta", "base"],
  ["theta", "base"],
  ["rope_scaling", "scaling"],
  ["rotary_embedding_dim", "rotaryDim", "0, for all features, is left out."],
  ["partial_rotary_factor", "rotaryDim", "It is the factor times the width of a head."],
  ["rotary_interleaved", "interleaved"],
  ["cos_cache", "cos"],
  ["sin_cache", "sin"],
  ["rotary_cos", "cos"],
  ["rotary_sin", "sin"],
  ["position_ids", "positions"],
];

/** Names for their scaling. */
export const SCALING_OTHERS: readonly OtherName[] = [
  ["rope_type", "kind"],
  ["type", "kind"],
  ["original_max_position_embeddings", "originalLength"],
];
