#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/rows.h"
#include "attention/softmax.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// Bytes of scratch that a worker needs; -1 on overflow.
[[nodiscard]] std::int64_t inspection_bytes(const Call& call);

/// The second pass. It recomputes the scores of the chosen rows, a few rows against all keys at a time. From them and
/// from each row's final softmax (`statistics`, [B, num_heads, Sq]) it computes what is wanted. `scratch` holds
/// inspection_bytes for every worker.
void inspect(ThreadPool& pool, const Call& call, const PatchedProbs& patched, const FinishedSoftmax* statistics,
             char* scratch);

}  // namespace headwise
