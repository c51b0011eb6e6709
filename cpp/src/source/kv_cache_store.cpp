#include "source/kv_cache_store.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"

namespace headwise {

KvCache::Store::~Store() {
  for (std::int64_t i = 0; i < blocks.size(); ++i) release_block(blocks[i]);
}

std::int64_t KvCache::Store::dropped_of(std::int64_t total) const {
  return is_ring() ? std::max<std::int64_t>(0, total - shape.keep_first - shape.window) : 0;
}

RowSpan KvCache::Store::span_of(std::int64_t total, std::int64_t j, std::int64_t limit) const {
  const KeyPositions positions = positions_of(total);
  std::int64_t slot = positions.of(j);
  if (is_ring()) {
    if (positions.dropped > 0 && j < positions.kept) limit = std::min(limit, positions.kept - j);
    const std::int64_t slots = shape.keep_first + shape.window;
    if (slot >= slots) slot = shape.keep_first + (slot - shape.keep_first) % shape.window;
    limit = std::min(limit, slots - slot);
  }
  const std::int64_t row = slot % layout.tokens;
  return {slot / layout.tokens, row, std::min(limit, layout.tokens - row)};
}

bool KvCache::Store::initialise(const KvCacheShape& cache_shape) {
  shape = cache_shape;
  if (shape.rotary && !rotary_arrays.keep(shape.head_dim, &*shape.rotary).ok()) return false;
  layout = plan_block(shape);
  if (!appended.allocate(shape.batch_size) || !rotary_origin.allocate(shape.batch_size)) return false;
  std::fill_n(appended.data(), shape.batch_size, 0);
  std::fill_n(rotary_origin.data(), shape.batch_size, 0);
  return true;
}

Status KvCache::Store::ensure_angles() {
  return shape.rotary && angles.half() == 0 ? angles.create(*shape.rotary, shape.head_dim) : Status{};
}

Status KvCache::Store::ensure_means() {
  if (shape.dtype != Dtype::int8 || key_means) return {};
  std::int64_t heads = 0, size = 0;
  if (!multiply_sizes(shape.batch_size, shape.num_kv_heads, &heads) || !multiply_sizes(heads, shape.head_dim, &size) ||
      !key_means.allocate(size))
    return Status::out_of_memory(size * static_cast<std::int64_t>(sizeof(float)));
  std::fill_n(key_means.data(), size, 0.0f);
  return {};
}

bool KvCache::Store::reserve(std::int64_t b, std::int64_t before, std::int64_t total) {
  if (blocks_of(total) > blocks_per_batch && !widen_table(blocks_of(total))) return false;
  const std::int64_t length_then = length_of(total);
  RowSpan span;
  for (std::int64_t j = positions_of(total).rows_before(before); j < length_then; j += span.count) {
    span = span_of(total, j, length_then - j);
    if (!own(b, span.block)) return false;
  }
  return true;
}

void KvCache::Store::trim_all() {
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    for (std::int64_t n = blocks_of(appended[b]); n < blocks_per_batch; ++n) {
      release_block(block(b, n));
      block(b, n) = nullptr;
    }
  }
}

/// Doubles the table at least, so that appending single tokens costs a constant time each on average.
bool KvCache::Store::widen_table(std::int64_t blocks_wanted) {
  const std::int64_t width = std::max(blocks_wanted, 2 * blocks_per_batch);
  std::int64_t size = 0;
  Buffer<Block*> wider;
  if (!multiply_sizes(shape.batch_size, width, &size) || !wider.allocate(size)) return false;
  std::fill_n(wider.data(), size, nullptr);
  for (std::int64_t b = 0; b < shape.batch_size; ++b)
    for (std::int64_t n = 0; n < blocks_per_batch; ++n) wider[b * width + n] = block(b, n);
  blocks = std::move(wider);
  blocks_per_batch = width;
  return true;
}

bool KvCache::Store::own(std::int64_t b, std::int64_t n) {
  Block* const shared = block(b, n);
  if (shared && shared->owners.load(std::memory_order_acquire) == 1) return true;
  Block* const copy = allocate_block(layout);
  if (!copy) return false;
  if (shared) std::memcpy(copy->data(), shared->data(), static_cast<std::size_t>(layout.bytes));
  release_block(shared);
  block(b, n) = copy;
  return true;
}

std::int64_t KvCache::Store::blocks_of(std::int64_t total) const {
  return (length_of(total) + layout.tokens - 1) / layout.tokens;
}

}  // namespace headwise
