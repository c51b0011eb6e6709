#pragma once

#include "base/memory.h"
#include "headwise/kv_cache.h"

namespace headwise {

/// The queries of a call as they meet the keys of a cache.
struct CachedQueries {
  Buffer<float> all;
  Buffer<float> kept;  ///< see AttentionInputs::kept_query; empty if they are the same
};

/// Turns the queries of a call to a rotary cache. `inputs` then has those of `turned`.
[[nodiscard]] Status turn_queries(ThreadPool& pool, const AttentionShape& shape, const AttentionOptions& options,
                                  AttentionInputs* inputs, CachedQueries* turned);

/// KvCache::attend() for a call that validate() has accepted; inputs.cache is the cache. It can still refuse empty
/// rows, and a lack of memory.
[[nodiscard]] Status attend_cached(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                                   const AttentionOptions& options, const AttentionOutputs& outputs);

}  // namespace headwise
