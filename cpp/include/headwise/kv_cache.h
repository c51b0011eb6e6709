#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "headwise/attention.h"
#include "headwise/position.h"

namespace headwise {

struct KvCacheShape {
  std::int64_t batch_size = 1;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t value_dim = 1;
  Dtype dtype = Dtype::float32;  ///< float32, float16, or int8 with one scale per token, head and side
  /// Largest number of tokens a batch holds; 0 grows without bound (in blocks). Not below what a ring holds.
  std::int64_t capacity = 0;
  /// Ring: the first `keep_first` tokens and the last `window` ones stay, the others are dropped. window 0 is no ring.
  std::int64_t keep_first = 0;
  std::int64_t window = 0;
  /// Turns keys as they are appended, and queries in `attend`, by their positions.
  std::optional<RotaryOptions> rotary;
};

/// Keys and values of past tokens, in blocks that forks share until one of them writes.
///
/// Every token is known by its position: the absolute index, below 2^31, at which it was appended to its batch. Key
/// rows of a batch are numbered in ascending position, 0..length(b). Appending moves bytes in proportion to the new
/// tokens only (and at most one block per batch that a fork still shares).
///
/// float16 rounds to nearest even. int8 stores a token's row x of one head as q = round(x / scale) with
/// scale = max|x| / 127, so that every element is off by at most scale / 2; a row with a NaN or an infinity reads back
/// as NaN throughout, and touches no other row.
///
/// Not safe to change while an attention call reads it. Forks may be used on different threads.
class KvCache {
 public:
  [[nodiscard]] static Status create(const KvCacheShape& shape, std::unique_ptr<KvCache>* cache);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  /// Appends lengths[b] (default: all) leading tokens of key [B, Hkv, S, D] and value [B, Hkv, S, Dv] in `layout`,
  /// float32 or float16. All or nothing: on an error the cache is as before. Queries of the same S tokens must be given
  /// the same lengths as `query_lengths`: the cache does not remember them.
  [[nodiscard]] Status append(ThreadPool& pool, Layout layout, std::int64_t num_tokens, ConstArray key,
                              ConstArray value, const std::int32_t* lengths);
  /// attention() over this cache, which takes the place of inputs.cache. With `rotary` the query is turned first, row
  /// i of batch b by its position i + offset_b.
  [[nodiscard]] Status attend(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                              const AttentionOptions& options, const AttentionOutputs& outputs) const;
  /// Forgets all tokens at positions >= `length`. Refused if a ring has dropped tokens that it would hold at that
  /// length.
  [[nodiscard]] Status rewind(std::int64_t length);
  /// The same with a length for every batch, [B].
  [[nodiscard]] Status rewind_each(const std::int32_t* lengths);
  /// A cache with the same content that shares blocks until either writes (copy on write).
  [[nodiscard]] Status fork(std::unique_ptr<KvCache>* copy) const;
  /// A new cache of the same shape holding key rows [from, to) of every batch (of a shorter batch, what it has of
  /// them), renumbered from position 0. 0 <= from <= to <= max_length().
  [[nodiscard]] Status slice(std::int64_t from, std::int64_t to, std::unique_ptr<KvCache>* part) const;

  /// Bytes that `save` writes.
  [[nodiscard]] std::int64_t saved_size() const;
  /// Refused unless `size`, the bytes there is room for, is `saved_size()`.
  [[nodiscard]] Status save(std::uint8_t* bytes, std::int64_t size) const;
  /// Checks magic, version, sizes and checksum before anything is built, and refuses bytes that `save` never writes.
  /// Bit-exact: saving again gives the same bytes.
  [[nodiscard]] static Status load(const std::uint8_t* bytes, std::int64_t size, std::unique_ptr<KvCache>* cache);

  [[nodiscard]] const KvCacheShape& shape() const;
  [[nodiscard]] std::int64_t length(std::int64_t b) const;    ///< tokens held
  [[nodiscard]] std::int64_t appended(std::int64_t b) const;  ///< tokens ever appended (less those rewound)
  [[nodiscard]] std::int64_t max_length() const;              ///< over the batches; 0 without any
  [[nodiscard]] std::int64_t bytes() const;  ///< of blocks held; a block shared by n forks counts in each

  /// What the cache holds, for the core's own files.
  struct Store;
  [[nodiscard]] const Store& store() const { return *store_; }
  [[nodiscard]] Store& store() { return *store_; }

 private:
  explicit KvCache(std::unique_ptr<Store> store);
  template <class LengthOf>
  Status rewind_to(LengthOf length_of);

  std::unique_ptr<Store> store_;
};

}  // namespace headwise
