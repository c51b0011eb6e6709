#pragma once

#include <cstdint>

#include "base/memory.h"
#include "source/kv_cache_store.h"

namespace headwise {

/// y = x [B, heads, length, head_dim], turned by the rotary embedding of a cache. `positions` are those of the rows,
/// [planes, B, length]. x has been checked: only memory can be refused.
[[nodiscard]] Status turn_rows(ThreadPool& pool, const KvCache::Store& store, Layout layout, std::int64_t heads,
                               std::int64_t length, ConstArray x, const double* positions, std::int64_t planes,
                               Buffer<float>* y);

}  // namespace headwise
