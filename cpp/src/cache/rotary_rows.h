#pragma once

#include <cstdint>

#include "base/workspace.h"
#include "headwise/kv_cache.h"

namespace headwise {

/// y = x [B, heads, length, head_dim], turned by the rotary embedding of a cache of `shape`. Row i of batch b stands at
/// position first[b] + i. x has been checked: only memory can be refused.
[[nodiscard]] Status turn_rows(ThreadPool& pool, const KvCacheShape& shape, Layout layout, std::int64_t heads,
                               std::int64_t length, ConstArray x, const std::int64_t* first, Buffer<float>* y);

}  // namespace headwise
