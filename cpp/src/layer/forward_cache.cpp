#include "cache/append.h"
#include "cache/step.h"
#include "headwise/kv_cache.h"
#include "layer/forward.h"

namespace headwise {

/// New tokens must not drop those that their queries see, so the call works on a longer ring.
Status Forward::widen_ring() {
  if (!drops_visible_keys(*inputs_.cache, key_length_, growth_.gains)) return {};
  ring_ = inputs_.cache;
  if (Status status = ring_->widened(key_length_, &wide_); !status.ok()) return status;
  inputs_.cache = wide_.get();
  attention_inputs_.cache = wide_.get();
  return {};
}

Status Forward::append() {
  KvCache& cache = *inputs_.cache;
  for (std::int64_t b = 0; b < inputs_.batch_size; ++b)
    lengths_before_[b] = static_cast<std::int32_t>(cache.appended(b));
  return append_checked(pool_, cache, new_tokens());
}

/// A ring that has dropped a token for a new one cannot go back. The new one then stays.
void Forward::undo_append() { (void)inputs_.cache->rewind_each(lengths_before_.data()); }

}  // namespace headwise
