#pragma once

#include "backward/gradient_call.h"
#include "base/memory.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// deltas[b, h, i] = do_i . o_i - dlse_i for every row. The sums run in double: gradients of scores are small
/// differences.
[[nodiscard]] Status compute_deltas(ThreadPool& pool, const Call& forward, const BackwardInputs& inputs,
                                    Buffer<float>* deltas);

/// Logarithms of the sums of exponentials, [B, num_heads, Sq], and what float32 lost of them.
struct PreciseLse {
  Buffer<float> lse, rest;

  /// Takes those of the forward call, unless some are so far from 0 that the weights would not sum to 1: then the
  /// forward pass runs again without its output.
  [[nodiscard]] Status find(ThreadPool& pool, const AttentionShape& shape, const BackwardInputs& inputs,
                            const AttentionOptions& options);
};

}  // namespace headwise
