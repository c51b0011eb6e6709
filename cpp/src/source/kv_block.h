#pragma once

#include <atomic>
#include <cstdint>

#include "headwise/kv_cache.h"

namespace headwise {

/// Where the keys, or the values, lie in a block. Offsets are in bytes. Rows [num_kv_heads, tokens, width] are at
/// `offset`. For int8 their scales [num_kv_heads, tokens, scales] are at `scale_offset`. The rows of one head are
/// contiguous, so that decoding reads one stream.
struct BlockSide {
  std::int64_t width = 0;  ///< elements of a row
  std::int64_t row_bytes = 0;
  std::int64_t offset = 0;
  std::int64_t scale_offset = 0;
  std::int64_t scales = 0;  ///< of a row: one for every kScaleBlock elements of int8; 0 for other types

  [[nodiscard]] std::int64_t scale_bytes() const { return scales * static_cast<std::int64_t>(sizeof(float)); }
};

/// The inside of a block: a fixed number of tokens of one batch, all heads.
struct BlockLayout {
  std::int64_t tokens = 0;
  BlockSide key, value;
  std::int64_t bytes = 0;
};

inline constexpr std::int64_t kBlockTokens = 128;
/// The most bytes that a token of all heads may take: 256 TiB. No sum of a block then comes near the end of int64. The
/// reader of saved caches in JavaScript has the same limit.
inline constexpr std::int64_t kMostTokenBytes = std::int64_t{1} << 48;

/// Bytes of the rows and scales of a token, of all heads. Any number above kMostTokenBytes means too many.
[[nodiscard]] std::int64_t token_bytes(const KvCacheShape& shape);

/// The layout of the blocks of a cache. Its tokens must not take more than kMostTokenBytes. A block has kBlockTokens
/// tokens, or fewer if the cache can never hold as many.
[[nodiscard]] BlockLayout plan_block(const KvCacheShape& shape);

/// A block of a cache: the number of its owners, then BlockLayout::bytes of data.
struct alignas(64) Block {
  std::atomic<std::int32_t> owners{1};

  [[nodiscard]] std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(this + 1); }
  [[nodiscard]] const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(this + 1); }
};

/// A block of undefined content with one owner. Null if there is no memory.
[[nodiscard]] Block* allocate_block(const BlockLayout& layout);
/// Adds an owner. Null stays null.
Block* share_block(Block* block);
/// Removes an owner. The last owner frees the block. `block` may be null.
void release_block(Block* block);

}  // namespace headwise
