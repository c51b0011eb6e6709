#pragma once

#include <atomic>
#include <cstdint>

#include "headwise/kv_cache.h"

namespace headwise {

/// Where the keys, or the values, lie in a block, in bytes: rows [num_kv_heads, tokens, width] at `offset`, and for
/// int8 their scales [num_kv_heads, tokens] at `scale_offset`. The rows of one head are contiguous: decoding streams.
struct BlockSide {
  std::int64_t width = 0;  ///< elements of a row
  std::int64_t row_bytes = 0;
  std::int64_t offset = 0;
  std::int64_t scale_offset = 0;
};

/// The inside of a block: a fixed number of tokens of one batch, all heads.
struct BlockLayout {
  std::int64_t tokens = 0;
  BlockSide key, value;
  std::int64_t bytes = 0;
};

/// False if the byte count leaves int64. `tokens` is at most kBlockTokens, less if the cache can never hold as many.
[[nodiscard]] bool plan_block(const KvCacheShape& shape, BlockLayout* layout);

inline constexpr std::int64_t kBlockTokens = 128;

/// Memory with a count of its owners; BlockLayout::bytes of data follow.
struct alignas(64) Block {
  std::atomic<std::int32_t> owners{1};

  [[nodiscard]] std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(this + 1); }
  [[nodiscard]] const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(this + 1); }
};

/// A block of undefined content with one owner, or null without memory.
[[nodiscard]] Block* allocate_block(const BlockLayout& layout);
/// One more owner; null stays null.
Block* share_block(Block* block);
/// One owner less; the last one frees. Null is fine.
void release_block(Block* block);

}  // namespace headwise
