#pragma once

#include "base/rules.h"
#include "headwise/kv_cache.h"

namespace headwise {

/// KvCache::attend() for a call that validate() has accepted; inputs.cache is the cache. It can still refuse empty
/// rows, and a lack of memory.
[[nodiscard]] Error attend_cached(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                                  const AttentionOptions& options, const AttentionOutputs& outputs);

}  // namespace headwise
