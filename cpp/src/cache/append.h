#pragma once

#include <cstdint>

#include "base/rules.h"
#include "headwise/kv_cache.h"

namespace headwise {

/// The rules of KvCache::append().
[[nodiscard]] Error check_append(const KvCache& cache, const NewTokens& tokens);

/// KvCache::append() after its checks. Only memory can be refused.
[[nodiscard]] Error append_checked(ThreadPool& pool, KvCache& cache, const NewTokens& tokens);

/// The most tokens that a batch gains.
[[nodiscard]] std::int64_t most_gained(std::int64_t batch_size, std::int64_t num_tokens, const std::int32_t* lengths);

}  // namespace headwise
