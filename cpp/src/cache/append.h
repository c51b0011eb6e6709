#pragma once

#include <cstdint>

#include "headwise/kv_cache.h"

namespace headwise {

/// The rules of KvCache::append().
[[nodiscard]] Status check_append(const KvCache& cache, std::int64_t num_tokens, ConstArray key, ConstArray value,
                                  const std::int32_t* lengths);

/// KvCache::append() after its checks. Only memory can be refused.
[[nodiscard]] Status append_checked(ThreadPool& pool, KvCache& cache, Layout layout, std::int64_t num_tokens,
                                    ConstArray key, ConstArray value, const std::int32_t* lengths);

}  // namespace headwise
