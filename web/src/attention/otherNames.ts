import { CALL, type OtherName } from "../read/otherNames.js";

/** Names for attentionBackward. */
export const BACKWARD_OTHERS: readonly OtherName[] = [
  // PyTorch
  ["grad_out", "dOutput"],
  ["grad_output", "dOutput"],
  ["out", "output"],
  ["logsumexp", "lse"],
  ["grad_logsumexp", "dLse"],
  // FlashAttention
  ["dout", "dOutput"],
  ["softmax_lse", "lse"],
  ["dsoftmax_lse", "dLse"],
  ["dlse", "dLse"],
  ["q", "query"],
  ["k", "key"],
  ["v", "value"],
  ...CALL,
];
