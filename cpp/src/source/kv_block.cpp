#include "source/kv_block.h"

#include <algorithm>
#include <limits>
#include <new>

#include "base/memory.h"
#include "base/numbers.h"

namespace headwise {

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

}  // namespace

std::int64_t token_bytes(const KvCacheShape& shape) {
  const std::int64_t scales = scales_in(shape, shape.head_dim) + scales_in(shape, shape.value_dim);
  const std::int64_t head_bytes =
      (shape.head_dim + shape.value_dim) * size_of(shape.dtype) + scales * static_cast<std::int64_t>(sizeof(float));
  std::int64_t bytes = 0;
  const bool counts = multiply_sizes(shape.num_kv_heads, head_bytes, &bytes);
  return counts ? bytes : std::numeric_limits<std::int64_t>::max();
}

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

Block* allocate_block(const BlockLayout& layout) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::size_t>::max() - sizeof(Block);
  if (static_cast<std::uint64_t>(layout.bytes) > kMost) return nullptr;
  void* memory = allocate_bytes(sizeof(Block) + static_cast<std::size_t>(layout.bytes));
  return memory ? new (memory) Block : nullptr;
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

}  // namespace headwise
