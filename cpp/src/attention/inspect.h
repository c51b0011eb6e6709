#pragma once

#include "attention/call.h"
#include "attention/patched_probs.h"
#include "attention/softmax.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// Whether the call wants results of the second pass: probs, scores, entropy, top-k, or rows of the output whose
/// weights are overwritten.
[[nodiscard]] bool wants_inspection(const Call& call);

/// The second pass. It recomputes the scores of the chosen rows, a few rows against all keys at a time. From them and
/// from each row's final softmax (`statistics`, [B, num_heads, Sq]) it computes what is wanted. `scratch` holds
/// inspection_bytes for every worker.
void inspect(ThreadPool& pool, const Call& call, const PatchedProbs& patched, const FinishedSoftmax* statistics,
             char* scratch);

}  // namespace headwise
