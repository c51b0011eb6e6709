#pragma once

#include "headwise/kv_cache.h"

namespace headwise {

/// The rules of KvCache::append().
[[nodiscard]] Status check_append(const KvCache& cache, const NewTokens& tokens);

/// KvCache::append() after its checks. Only memory can be refused.
[[nodiscard]] Status append_checked(ThreadPool& pool, KvCache& cache, const NewTokens& tokens);

}  // namespace headwise
