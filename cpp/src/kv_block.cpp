#include "kv_block.h"

#include <algorithm>
#include <limits>
#include <new>

#include "call.h"
#include "workspace.h"

namespace headwise {

namespace {

std::int64_t tokens_per_block(const KvCacheShape& shape) {
  if (shape.window > 0) return std::min(kBlockTokens, shape.keep_first + shape.window);
  return shape.capacity > 0 ? std::min(kBlockTokens, shape.capacity) : kBlockTokens;
}

/// Adds `rows` rows of `row_bytes` at the end of a block, from *offset on.
bool place(std::int64_t rows, std::int64_t row_bytes, std::int64_t* offset, std::int64_t* end) {
  constexpr std::int64_t kAlignment = 64;
  std::int64_t size = 0;
  *offset = *end;
  return multiply_sizes(rows, row_bytes, &size) && !__builtin_add_overflow(size, kAlignment - 1, &size) &&
         !__builtin_add_overflow(*end, size / kAlignment * kAlignment, end);
}

}  // namespace

bool plan_block(const KvCacheShape& shape, BlockLayout* layout) {
  *layout = {};
  layout->tokens = tokens_per_block(shape);
  std::int64_t rows = 0;
  if (!multiply_sizes(shape.num_kv_heads, layout->tokens, &rows)) return false;
  layout->key.width = shape.head_dim;
  layout->value.width = shape.value_dim;
  for (BlockSide* side : {&layout->key, &layout->value})
    if (!multiply_sizes(side->width, size_of(shape.dtype), &side->row_bytes) ||
        !place(rows, side->row_bytes, &side->offset, &layout->bytes))
      return false;
  if (shape.dtype != Dtype::int8) return true;
  for (BlockSide* side : {&layout->key, &layout->value})
    if (!place(rows, sizeof(float), &side->scale_offset, &layout->bytes)) return false;
  return true;
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
