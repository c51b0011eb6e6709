#pragma once

#include <cstdint>

#include "base/workspace.h"
#include "source/kv_cache_store.h"

namespace headwise {

/// y = x [B, heads, length, head_dim], turned by the rotary embedding of a cache. Row i of batch b stands at
/// position first[b] + i, or where it is given, [B, length]. x has been checked: only memory can be refused.
[[nodiscard]] Status turn_rows(ThreadPool& pool, const KvCache::Store& store, Layout layout, std::int64_t heads,
                               std::int64_t length, ConstArray x, const std::int64_t* first, const std::int32_t* given,
                               Buffer<float>* y);

}  // namespace headwise
