#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "base/memory.h"
#include "base/rules.h"
#include "headwise/array.h"
#include "headwise/kv_cache.h"
#include "position/rotary.h"
#include "source/key_value_source.h"

namespace headwise {

/// Stores one float32 row as `dtype`. int8 also writes the scales of its blocks.
void store_row(const float* row, std::int64_t width, Dtype dtype, std::uint8_t* to, float* scales);

/// Reads a stored row as float32. int8 also reads the scales.
void load_row(const std::uint8_t* from, const float* scales, std::int64_t width, Dtype dtype, float* row);

/// row -= mean, and row += mean. A null mean is 0.
void subtract_mean(const float* mean, std::int64_t width, float* row);
void add_mean(const float* mean, std::int64_t width, float* row);

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

/// A block of a cache: the number of its owners, then BlockLayout::bytes of data.
struct alignas(64) Block {
  std::atomic<std::int32_t> owners{1};

  [[nodiscard]] std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(this + 1); }
  [[nodiscard]] const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(this + 1); }
};

/// Adds an owner. Null stays null.
Block* share_block(Block* block);
/// Removes an owner. The last owner frees the block. `block` may be null.
void release_block(Block* block);

/// Consecutive key rows that lie in consecutive rows of one block.
struct RowSpan {
  std::int64_t block = 0;  ///< number of the block within its batch
  std::int64_t row = 0;    ///< first row within the block
  std::int64_t count = 0;
};

/// What a cache holds, and where. Every token has a slot. The token at position p is in slot p until a ring is full,
/// then in slot keep_first + (p - keep_first) mod window. Slot n is row n mod tokens of block n / tokens. The number of
/// tokens appended to a batch therefore determines where all its rows are.
struct KvCache::Store {
  KvCacheShape shape;
  BlockLayout layout;
  Buffer<std::int64_t> appended;  ///< [B]
  /// [B] A rotary embedding adds this to positions. It is not 0 in a slice: its keys were turned by their old
  /// positions.
  Buffer<std::int64_t> rotary_origin;
  /// Whether tokens were given positions. They are not kept, so keys cannot be turned from them.
  bool has_given_positions = false;
  /// [B, num_kv_heads, head_dim] of int8, once a token has been appended: what was subtracted from the keys of a batch
  /// before they were quantised. It is fixed until the batch is empty again. See ensure_means.
  Buffer<float> key_means;
  RotaryArrays rotary_arrays;  ///< those that shape.rotary points to
  RotaryAngles angles;         ///< of shape.rotary, once a token has been appended: see ensure_angles
  std::int64_t sight = 0;      ///< of a widened ring: the window of the ring
  Buffer<std::int64_t> lost;   ///< [B], of a widened ring: the tokens that the ring has dropped; this one drops none
  Buffer<Block*> blocks;       ///< [B, blocks_per_batch], null if there is no block
  std::int64_t blocks_per_batch = 0;

  Store() = default;
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Whether `keep` turns the keys that it moves.
  [[nodiscard]] bool turns_moved_keys() const { return shape.rotary.has_value() && !has_given_positions; }
  [[nodiscard]] bool has(std::int64_t b) const { return b >= 0 && b < shape.batch_size; }
  [[nodiscard]] bool is_ring() const { return shape.window > 0; }
  /// The most tokens that may be appended to a batch in all.
  [[nodiscard]] std::int64_t most_tokens() const {
    return shape.capacity > 0 && !is_ring() ? shape.capacity : std::numeric_limits<std::int32_t>::max();
  }
  /// The tokens of `total` for which a ring has no slot.
  [[nodiscard]] std::int64_t without_slot(std::int64_t total) const {
    return is_ring() ? std::max<std::int64_t>(0, total - shape.keep_first - shape.window) : 0;
  }
  /// What batch b is after `total` tokens have been appended: the tokens that it has dropped, the rows that are left,
  /// and their positions.
  [[nodiscard]] std::int64_t dropped_at(std::int64_t b, std::int64_t total) const {
    return lost ? lost[b] : without_slot(total);
  }
  [[nodiscard]] std::int64_t length_at(std::int64_t b, std::int64_t total) const {
    return total - dropped_at(b, total);
  }
  [[nodiscard]] KeyPositions positions_at(std::int64_t b, std::int64_t total) const {
    return {shape.keep_first, dropped_at(b, total), sight};
  }
  /// The longest span that starts at key row j, at most `limit` rows, after `total` tokens have been appended.
  [[nodiscard]] RowSpan span_at(std::int64_t b, std::int64_t total, std::int64_t j, std::int64_t limit) const;

  /// What it is now.
  [[nodiscard]] std::int64_t dropped(std::int64_t b) const { return dropped_at(b, appended[b]); }
  [[nodiscard]] std::int64_t length(std::int64_t b) const { return length_at(b, appended[b]); }
  [[nodiscard]] KeyPositions positions(std::int64_t b) const { return positions_at(b, appended[b]); }
  [[nodiscard]] RowSpan span(std::int64_t b, std::int64_t j, std::int64_t limit) const {
    return span_at(b, appended[b], j, limit);
  }
  /// The position right after key row j - 1 of batch b.
  [[nodiscard]] std::int64_t end_position(std::int64_t b, std::int64_t j) const {
    return j > 0 ? positions(b).of(j - 1) + 1 : 0;
  }
  [[nodiscard]] Block*& block(std::int64_t b, std::int64_t n) { return blocks[b * blocks_per_batch + n]; }
  [[nodiscard]] const Block* block(std::int64_t b, std::int64_t n) const { return blocks[b * blocks_per_batch + n]; }

  /// Where the bytes, and the scales, of a span's rows of kv head g begin in their block.
  [[nodiscard]] std::int64_t row_offset(const BlockSide& side, std::int64_t g, std::int64_t row) const {
    return side.offset + (g * layout.tokens + row) * side.row_bytes;
  }
  [[nodiscard]] std::int64_t scale_offset(const BlockSide& side, std::int64_t g, std::int64_t row) const {
    return side.scale_offset + (g * layout.tokens + row) * side.scale_bytes();
  }

  /// The mean of the keys of a head. Null if the cache has none.
  [[nodiscard]] float* key_mean(std::int64_t b, std::int64_t g) {
    return key_means ? key_means.data() + (b * shape.num_kv_heads + g) * shape.head_dim : nullptr;
  }
  [[nodiscard]] const float* key_mean(std::int64_t b, std::int64_t g) const {
    return key_means ? key_means.data() + (b * shape.num_kv_heads + g) * shape.head_dim : nullptr;
  }

  /// Makes room for the means of int8, all 0, if there is none. Like the angles they are not there in an empty cache.
  [[nodiscard]] Error ensure_means();
  /// Copies the means of a cache of the same heads: batch b gets those of batch_of(b).
  template <class BatchOf>
  [[nodiscard]] Error copy_means(const Store& from, BatchOf batch_of) {
    if (!from.key_means) return {};
    if (Error e = ensure_means()) return e;
    const std::int64_t numbers = shape.num_kv_heads * shape.head_dim;
    for (std::int64_t b = 0; b < shape.batch_size; ++b)
      std::copy_n(from.key_mean(batch_of(b), 0), numbers, key_mean(b, 0));
    return {};
  }
  [[nodiscard]] Error copy_means(const Store& from) {
    return copy_means(from, [](std::int64_t b) { return b; });
  }

  /// Computes the angles, if they are not there. Their number is that of a header that nobody has checked, so an empty
  /// cache has none.
  [[nodiscard]] Error ensure_angles();
  /// Gives a copy of a cache what that has beside its rows.
  [[nodiscard]] Error copy_means_and_angles(const Store& from);
  /// Copies key rows [first, last) of batch b of a cache with rows of the same kind to rows 0, 1, … of batch b. Their
  /// blocks must be reserved.
  void copy_rows(const Store& from, std::int64_t b, std::int64_t first, std::int64_t last);
  /// Sets every batch to no tokens. False if there is no memory.
  [[nodiscard]] Error initialise(const KvCacheShape& cache_shape);
  /// Allocates the blocks of all rows that batch b gains between `before` and `total` tokens, and copies those that it
  /// shares. Changes nothing that can be read. False if there is no memory.
  [[nodiscard]] Error reserve(std::int64_t b, std::int64_t before, std::int64_t total);
  /// Gives back the blocks that hold no row.
  void trim_all();

 private:
  [[nodiscard]] Error widen_table(std::int64_t blocks_wanted);
  [[nodiscard]] bool own(std::int64_t b, std::int64_t n);
  [[nodiscard]] std::int64_t blocks_of(std::int64_t total) const;
};

/// y = x [B, heads, length, head_dim], turned by the rotary embedding of a cache. `positions` are those of the rows,
/// [planes, B, length]. x has been checked: only memory can be refused.
[[nodiscard]] Error turn_rows(ThreadPool& pool, const KvCache::Store& store, Layout layout, std::int64_t heads,
                              std::int64_t length, ConstArray x, const double* positions, std::int64_t planes,
                              Buffer<float>* y);

}  // namespace headwise
