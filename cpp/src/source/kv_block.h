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

inline constexpr std::int64_t kBlockTokens = 128;
/// A token of all heads takes no more: 256 TiB, so that no sum of a block comes near the end of int64. Readers of saved
/// caches in other languages know it, too.
inline constexpr std::int64_t kMostTokenBytes = std::int64_t{1} << 48;

/// Bytes of a token's rows and scales, of all heads; above kMostTokenBytes if they are more than that.
[[nodiscard]] std::int64_t token_bytes(const KvCacheShape& shape);

/// Of a shape within kMostTokenBytes. `tokens` is at most kBlockTokens, less if the cache can never hold as many.
[[nodiscard]] BlockLayout plan_block(const KvCacheShape& shape);

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
