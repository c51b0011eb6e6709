#include "cache/wide_ring.h"

#include <utility>

#include "source/kv_cache_store.h"

namespace headwise {

Error widen_ring(const KvCache& ring, std::int64_t more, std::unique_ptr<KvCache>* wide) {
  const KvCache::Store& store = ring.store();
  KvCacheShape shape = store.shape;
  shape.window += more;
  shape.capacity = 0;
  std::unique_ptr<KvCache> made;
  if (Error e = KvCache::create(shape, &made)) return e;
  KvCache::Store& copy = made->store();
  copy.sight = store.shape.window;
  copy.has_given_positions = store.has_given_positions;
  if (Error e = copy.lost.allocate(shape.batch_size)) return e;
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    copy.rotary_origin[b] = store.rotary_origin[b];
    copy.lost[b] = store.dropped(b);
    if (Error e = copy.reserve(b, 0, store.appended[b])) return e;
    copy.appended[b] = store.appended[b];
    copy.copy_rows(store, b, 0, copy.length(b));
  }
  if (Error e = copy.copy_means_and_angles(store)) return e;
  *wide = std::move(made);
  return {};
}

bool drops_visible_keys(const KvCache& cache, std::int64_t num_tokens, const std::int32_t* lengths) {
  const KvCache::Store& store = cache.store();
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) {
    const std::int64_t gain = lengths ? lengths[b] : num_tokens;
    if (gain > 1 && store.dropped_at(b, store.appended[b] + gain) > 0) return true;
  }
  return false;
}

}  // namespace headwise
