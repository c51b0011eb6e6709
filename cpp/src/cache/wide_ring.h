#pragma once

#include <cstdint>
#include <memory>

#include "base/rules.h"
#include "headwise/kv_cache.h"

namespace headwise {

/// A copy of a ring whose window is longer by `more` tokens. It shows a query only what the ring would show it if the
/// query's token were the last one. So it can be given `more` tokens without dropping any. It only lives for a call:
/// it can be appended to, attended to and rewound by what was appended.
[[nodiscard]] Error widen_ring(const KvCache& ring, std::int64_t more, std::unique_ptr<KvCache>* wide);

/// Whether a ring that gains tokens drops some that a query of the new ones sees. Then the call needs a widened ring.
[[nodiscard]] bool drops_visible_keys(const KvCache& cache, std::int64_t num_tokens, const std::int32_t* lengths);

}  // namespace headwise
