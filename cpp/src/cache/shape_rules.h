#pragma once

#include "headwise/kv_cache.h"

namespace headwise {

/// The rules on the shape of a cache.
[[nodiscard]] Status check_cache_shape(const KvCacheShape& shape);

}  // namespace headwise
