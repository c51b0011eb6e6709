#include "cache/step.h"

#include "attention/validate.h"
#include "base/memory.h"
#include "cache/append.h"
#include "source/kv_cache_store.h"

namespace headwise {

bool drops_visible_keys(const KvCache& cache, std::int64_t num_tokens, const std::int32_t* lengths) {
  const KvCache::Store& store = cache.store();
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) {
    const std::int64_t gain = lengths ? lengths[b] : num_tokens;
    if (gain > 1 && store.dropped_of(store.appended[b] + gain) > 0) return true;
  }
  return false;
}

Status KvCache::step(ThreadPool& pool, const NewTokens& tokens, const AttentionShape& shape,
                     const AttentionInputs& inputs, const AttentionOptions& options, const AttentionOutputs& outputs,
                     const AttendInside& inside) {
  if (Status status = check_append(*this, tokens); !status.ok()) return status;
  if (drops_visible_keys(*this, tokens.num_tokens, tokens.lengths)) {
    std::unique_ptr<KvCache> wide;
    if (Status status = widened(tokens.num_tokens, &wide); !status.ok()) return status;
    if (Status status = append_checked(pool, *wide, tokens); !status.ok()) return status;
    if (Status status = wide->attend(pool, shape, inputs, options, outputs, inside); !status.ok()) return status;
    return append_checked(pool, *this, tokens);
  }
  AttentionInputs cached = inputs;
  cached.cache = this;
  if (Status status = validate(shape, cached, options, outputs, {tokens.num_tokens, tokens.lengths}); !status.ok())
    return status;
  Buffer<std::int32_t> before;
  if (!before.allocate(shape.batch_size)) return Status::out_of_memory(shape.batch_size * 4);
  for (std::int64_t b = 0; b < shape.batch_size; ++b) before[b] = static_cast<std::int32_t>(appended(b));
  if (Status status = append_checked(pool, *this, tokens); !status.ok()) return status;
  Status status = attend(pool, shape, inputs, options, outputs, inside);
  // A ring that has dropped a token cannot go back. The new one then stays.
  if (!status.ok()) (void)rewind_each(before.data());
  return status;
}

}  // namespace headwise
