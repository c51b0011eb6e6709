#pragma once

#include <cstdint>

#include "base/memory.h"
#include "base/rules.h"
#include "headwise/kv_cache.h"

namespace headwise {

/// The rules of KvCache::append().
[[nodiscard]] Error check_append(const KvCache& cache, const NewTokens& tokens);

/// KvCache::append() after its checks. Only memory can be refused.
[[nodiscard]] Error append_checked(ThreadPool& pool, KvCache& cache, const NewTokens& tokens);

/// What a cache had before an append, so that a call that fails afterwards can take the tokens back.
class BeforeAppend {
 public:
  [[nodiscard]] Error note(const KvCache& cache);
  /// The cache is then as before. A ring that has dropped a token for a new one cannot go back: the new one stays.
  void restore(KvCache& cache) const;

 private:
  Buffer<std::int32_t> appended_;
  bool has_given_positions_ = false;
};

/// The most tokens that a batch gains.
[[nodiscard]] std::int64_t most_gained(std::int64_t batch_size, std::int64_t num_tokens, const std::int32_t* lengths);

}  // namespace headwise
