#include <utility>

#include "base/memory.h"
#include "headwise/kv_cache.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

Status check_indices(const std::int32_t* indices, std::int64_t batch_size) {
  for (std::int64_t b = 0; b < batch_size; ++b)
    if (indices[b] < 0 || indices[b] >= batch_size)
      return Status::error(StatusCode::invalid_option, "indices[%lld] must be in 0..%lld, got %d",
                           static_cast<long long>(b), static_cast<long long>(batch_size - 1), indices[b]);
  return {};
}

}  // namespace

Status KvCache::select(const std::int32_t* indices) {
  Store& store = *store_;
  const std::int64_t batch_size = store.shape.batch_size, width = store.blocks_per_batch;
  if (Status status = check_indices(indices, batch_size); !status.ok()) return status;
  KvCache::Store chosen;  // its means alone
  chosen.shape = store.shape;
  if (Status status = chosen.copy_means(store, [indices](std::int64_t b) { return indices[b]; }); !status.ok())
    return status;
  Buffer<std::int64_t> appended, origin;
  Buffer<Block*> blocks;
  if (!appended.allocate(batch_size) || !origin.allocate(batch_size) || !blocks.allocate(store.blocks.size()))
    return Status::out_of_memory(batch_size * (width + 2) * 8);
  for (std::int64_t b = 0; b < batch_size; ++b) {
    appended[b] = store.appended[indices[b]];
    origin[b] = store.rotary_origin[indices[b]];
    for (std::int64_t n = 0; n < width; ++n) blocks[b * width + n] = share_block(store.block(indices[b], n));
  }
  for (std::int64_t i = 0; i < store.blocks.size(); ++i) release_block(store.blocks[i]);
  store.blocks = std::move(blocks);
  store.key_means = std::move(chosen.key_means);
  store.appended = std::move(appended);
  store.rotary_origin = std::move(origin);
  return {};
}

}  // namespace headwise
