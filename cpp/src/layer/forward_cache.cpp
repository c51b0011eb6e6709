#include "cache/append.h"
#include "headwise/kv_cache.h"
#include "layer/forward.h"

namespace headwise {

Status Forward::append() {
  KvCache& cache = *inputs_.cache;
  for (std::int64_t b = 0; b < inputs_.batch_size; ++b)
    lengths_before_[b] = static_cast<std::int32_t>(cache.appended(b));
  return append_checked(pool_, cache, heads_layout_, key_length_, {key_.data(), Dtype::float32},
                        {value_.data(), Dtype::float32}, growth_.gains);
}

/// A ring that has dropped tokens for the new ones cannot go back. The new tokens then stay.
void Forward::undo_append() { (void)inputs_.cache->rewind_each(lengths_before_.data()); }

}  // namespace headwise
