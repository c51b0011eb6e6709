#include "source/kv_cache_store.h"

#include <cstring>
#include <new>

#include "base/numbers.h"

namespace headwise {

void store_row(const float* row, std::int64_t width, Dtype dtype, std::uint8_t* to, float* scales) {
  switch (dtype) {
    case Dtype::float32:
      std::memcpy(to, row, static_cast<std::size_t>(width) * sizeof(float));
      return;
    case Dtype::float16:
      floats_to_halves(row, width, reinterpret_cast<std::uint16_t*>(to));
      return;
    case Dtype::int8:
      quantise_blocks(row, width, reinterpret_cast<std::int8_t*>(to), scales);
      return;
    case Dtype::bfloat16:  // no cache has it
      return;
  }
}

void load_row(const std::uint8_t* from, const float* scales, std::int64_t width, Dtype dtype, float* row) {
  switch (dtype) {
    case Dtype::float32:
      std::memcpy(row, from, static_cast<std::size_t>(width) * sizeof(float));
      return;
    case Dtype::float16:
      halves_to_floats(reinterpret_cast<const std::uint16_t*>(from), width, row);
      return;
    case Dtype::int8:
      for (std::int64_t d = 0; d < width; ++d)
        row[d] = static_cast<float>(reinterpret_cast<const std::int8_t*>(from)[d]) * scales[d / kScaleBlock];
      return;
    case Dtype::bfloat16:
      return;
  }
}

void subtract_mean(const float* mean, std::int64_t width, float* row) {
  for (std::int64_t d = 0; mean && d < width; ++d) row[d] -= mean[d];
}

void add_mean(const float* mean, std::int64_t width, float* row) {
  for (std::int64_t d = 0; mean && d < width; ++d) row[d] += mean[d];
}

namespace {

std::int64_t tokens_per_block(const KvCacheShape& shape) {
  if (shape.window > 0) return std::min(kBlockTokens, shape.keep_first + shape.window);
  return shape.capacity > 0 ? std::min(kBlockTokens, shape.capacity) : kBlockTokens;
}

std::int64_t scales_in(const KvCacheShape& shape, std::int64_t width) {
  return shape.dtype == Dtype::int8 ? scales_of(width) : 0;
}

/// Adds `rows` rows of `row_bytes` at the end of a block. Returns where they begin.
std::int64_t place(std::int64_t rows, std::int64_t row_bytes, std::int64_t* end) {
  const std::int64_t begin = *end;
  *end += round_up(rows * row_bytes, kAlignment);
  return begin;
}

/// The layout of the blocks of a cache. Its tokens must not take more than kMostTokenBytes. A block has kBlockTokens
/// tokens, or fewer if the cache can never hold as many.
BlockLayout plan_block(const KvCacheShape& shape) {
  BlockLayout layout;
  layout.tokens = tokens_per_block(shape);
  const std::int64_t rows = shape.num_kv_heads * layout.tokens;
  layout.key.width = shape.head_dim;
  layout.value.width = shape.value_dim;
  for (BlockSide* side : {&layout.key, &layout.value}) {
    side->row_bytes = side->width * size_of(shape.dtype);
    side->offset = place(rows, side->row_bytes, &layout.bytes);
  }
  for (BlockSide* side : {&layout.key, &layout.value}) {
    side->scales = scales_in(shape, side->width);
    side->scale_offset = place(rows, side->scale_bytes(), &layout.bytes);
  }
  return layout;
}

/// A block of undefined content with one owner. Null if there is no memory.
Block* allocate_block(const BlockLayout& layout) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::size_t>::max() - sizeof(Block);
  if (static_cast<std::uint64_t>(layout.bytes) > kMost) return nullptr;
  void* memory = allocate_bytes(sizeof(Block) + static_cast<std::size_t>(layout.bytes));
  return memory ? new (memory) Block : nullptr;
}

}  // namespace

std::int64_t token_bytes(const KvCacheShape& shape) {
  const std::int64_t scales = scales_in(shape, shape.head_dim) + scales_in(shape, shape.value_dim);
  const std::int64_t head_bytes =
      (shape.head_dim + shape.value_dim) * size_of(shape.dtype) + scales * static_cast<std::int64_t>(sizeof(float));
  std::int64_t bytes = 0;
  const bool counts = multiply_sizes(shape.num_kv_heads, head_bytes, &bytes);
  return counts ? bytes : std::numeric_limits<std::int64_t>::max();
}

Block* share_block(Block* block) {
  if (block) block->owners.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void release_block(Block* block) {
  if (!block || block->owners.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  block->~Block();
  free_bytes(block);
}

KvCache::Store::~Store() {
  for (std::int64_t i = 0; i < blocks.size(); ++i) release_block(blocks[i]);
}

RowSpan KvCache::Store::span_at(std::int64_t b, std::int64_t total, std::int64_t j, std::int64_t limit) const {
  const KeyPositions positions = positions_at(b, total);
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

Error KvCache::Store::initialise(const KvCacheShape& cache_shape) {
  shape = cache_shape;
  if (shape.rotary)
    if (Error e = rotary_arrays.keep(shape.head_dim, &*shape.rotary)) return e;
  layout = plan_block(shape);
  if (Error e = allocate_all(appended, shape.batch_size, rotary_origin, shape.batch_size)) return e;
  std::fill_n(appended.data(), shape.batch_size, 0);
  std::fill_n(rotary_origin.data(), shape.batch_size, 0);
  return {};
}

Error KvCache::Store::ensure_angles() {
  return shape.rotary && angles.half() == 0 ? angles.create(*shape.rotary, shape.head_dim) : Error{};
}

Error KvCache::Store::ensure_means() {
  if (shape.dtype != Dtype::int8 || key_means) return {};
  std::int64_t heads = 0, size = 0;
  if (!multiply_sizes(shape.batch_size, shape.num_kv_heads, &heads) || !multiply_sizes(heads, shape.head_dim, &size))
    return out_of_memory(std::numeric_limits<std::int64_t>::max());
  if (Error e = key_means.allocate(size)) return e;
  std::fill_n(key_means.data(), size, 0.0f);
  return {};
}

Error KvCache::Store::copy_means_and_angles(const Store& from) {
  if (Error e = copy_means(from)) return e;
  return from.angles.half() > 0 ? ensure_angles() : Error{};
}

void KvCache::Store::copy_rows(const Store& from, std::int64_t b, std::int64_t first, std::int64_t last) {
  RowSpan out, in;
  for (std::int64_t j = first; j < last; j += in.count) {
    out = span(b, j - first, last - j);
    in = from.span(b, j, out.count);
    std::uint8_t* const to_data = block(b, out.block)->data();
    const std::uint8_t* const from_data = from.block(b, in.block)->data();
    const auto copy_side = [&](std::int64_t g, const BlockSide& to_side, const BlockSide& from_side) {
      std::memcpy(to_data + row_offset(to_side, g, out.row), from_data + from.row_offset(from_side, g, in.row),
                  static_cast<std::size_t>(in.count * from_side.row_bytes));
      std::memcpy(to_data + scale_offset(to_side, g, out.row), from_data + from.scale_offset(from_side, g, in.row),
                  static_cast<std::size_t>(in.count * from_side.scale_bytes()));
    };
    for (std::int64_t g = 0; g < from.shape.num_kv_heads; ++g) {
      copy_side(g, layout.key, from.layout.key);
      copy_side(g, layout.value, from.layout.value);
    }
  }
}

Error KvCache::Store::reserve(std::int64_t b, std::int64_t before, std::int64_t total) {
  if (blocks_of(total) > blocks_per_batch)
    if (Error e = widen_table(blocks_of(total))) return e;
  const std::int64_t length_then = length_at(b, total);
  RowSpan span;
  for (std::int64_t j = positions_at(b, total).rows_before(before); j < length_then; j += span.count) {
    span = span_at(b, total, j, length_then - j);
    if (!own(b, span.block)) return out_of_memory(layout.bytes);
  }
  return {};
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
Error KvCache::Store::widen_table(std::int64_t blocks_wanted) {
  const std::int64_t width = std::max(blocks_wanted, 2 * blocks_per_batch);
  std::int64_t size = 0;
  Buffer<Block*> wider;
  if (!multiply_sizes(shape.batch_size, width, &size)) return out_of_memory(std::numeric_limits<std::int64_t>::max());
  if (Error e = wider.allocate(size)) return e;
  std::fill_n(wider.data(), size, nullptr);
  for (std::int64_t b = 0; b < shape.batch_size; ++b)
    for (std::int64_t n = 0; n < blocks_per_batch; ++n) wider[b * width + n] = block(b, n);
  blocks = std::move(wider);
  blocks_per_batch = width;
  return {};
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
  return (total - without_slot(total) + layout.tokens - 1) / layout.tokens;
}

Error turn_rows(ThreadPool& pool, const KvCache::Store& store, Layout layout, std::int64_t heads, std::int64_t length,
                ConstArray x, const double* positions, std::int64_t planes, Buffer<float>* y) {
  const KvCacheShape& shape = store.shape;
  const std::int64_t size = shape.batch_size * length * heads * shape.head_dim;  // x has been found addressable
  if (Error e = y->allocate(size)) return e;
  RotaryAngles own;  // of a cache without tokens
  const bool has_angles = store.angles.half() > 0;
  if (!has_angles)
    if (Error e = own.create(*shape.rotary, shape.head_dim)) return e;
  const RotaryAngles& angles = has_angles ? store.angles : own;
  return turn_at(pool, layout, shape.batch_size, heads, length, shape.head_dim, angles, x, positions,
                 {y->data(), Dtype::float32}, planes);
}

}  // namespace headwise
