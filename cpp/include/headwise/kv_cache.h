#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "headwise/attention.h"
#include "headwise/position.h"

namespace headwise {

/// Every batch takes memory, also without tokens.
inline constexpr std::int64_t kMostCacheBatches = std::int64_t{1} << 20;

struct KvCacheShape {
  std::int64_t batch_size = 1;  ///< at most kMostCacheBatches
  std::int64_t num_kv_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t value_dim = 1;
  Dtype dtype = Dtype::float32;  ///< float32, float16, or int8 with a scale for every 32 numbers of a row
  /// The largest number of tokens that a batch holds. 0: it grows without bound, block by block. For a ring it must not
  /// be less than keep_first + window.
  std::int64_t capacity = 0;
  /// Ring: the first `keep_first` tokens and the last `window` tokens stay. The others are dropped. window 0: no ring.
  std::int64_t keep_first = 0;
  std::int64_t window = 0;
  /// Where the rotary embedding and ALiBi of a ring count from: the text, or, if true, the cache (Xiao et al. 2023,
  /// StreamingLLM). Then a query stands at most keep_first + window - 1 positions from every key: the tokens that the
  /// ring has dropped do not count. So it is for ALiBi. Masks, windows and formulas go on by index. It needs a ring,
  /// and does not go with tables. Keys are stored as without it: once tokens were dropped, queries are turned a second
  /// time, for the keys of the first tokens.
  bool cache_positions = false;
  /// If given, keys are turned by their positions when they are appended, and queries in `attend`. Its arrays are
  /// copied: every cache has its own.
  std::optional<RotaryOptions> rotary{};
};

/// What a call of attend overwrites and shows. The mean is that of a head's rows over the batch, without padding. What
/// follows from such a row is computed as if the call had computed the data. AttentionInputs::probs overwrites weights.
struct AttendInside {
  Patch query{};         ///< after rotary embedding
  Patch head_outputs{};  ///< after head_gain
  AttentionViews views{};
};

/// Tokens to append: key [B, Hkv, S, D] and value [B, Hkv, S, Dv] in `layout`, float32 or float16.
struct NewTokens {
  Layout layout = Layout::bhsd;
  std::int64_t num_tokens = 0;  ///< S
  ConstArray key, value;
  const std::int32_t* lengths = nullptr;  ///< [B] or null: each batch gains its first lengths[b] tokens, or all
  /// Of a rotary cache: where the tokens stand, [B, S]; null: at their indices. Only the rotary embedding reads them.
  /// `keep` does not turn the keys of a cache that has been given positions: they stand where they stood.
  const std::int32_t* positions = nullptr;
  std::int64_t position_planes = 1;  ///< 3: positions are [3, B, S], for a rotary embedding with sections
};

/// The tokens that `keep` leaves in a cache.
struct KeptTokens {
  const std::int32_t* from = nullptr;    ///< [B] the first from[b] tokens of batch b stay where they are
  const std::int32_t* counts = nullptr;  ///< [B] how many of its later tokens stay
  /// Which ones, batch after batch: row i is the token at position from[b] + i. Ascending in each batch. It may be null
  /// if all counts are 0.
  const std::int32_t* rows = nullptr;
};

/// Keys and values of past tokens, in blocks that forks and batches share until one of them writes.
///
/// The position of a token is the absolute index at which it was appended to its batch. It is below 2^31. Key rows of a
/// batch are numbered in ascending position, 0..length(b). Appending copies the new tokens, and at most one block per
/// batch that a fork still shares.
///
/// float16 rounds to nearest even. int8 stores a token's row of one head in blocks of 32 neighbouring numbers (the last
/// one may have fewer): q = round(x / scale) with scale = max|x| / 127 over the block. From all keys of a batch and kv
/// head a constant vector is subtracted before, and its product with the query is added to all raw scores, rounded once
/// to float32. It is the mean of the keys of the append that found the batch empty, as they are stored (turned),
/// without rows that have a NaN or an infinity. It is 0 in a feature where it may be chance: with n rows, within 5 /
/// sqrt(n) of the average magnitude of all features; and from 2^64 on. It stays until the batch is empty again. Every
/// element of x, or of the float32 number x - mean, is off by at most (1/2 + 2^-17) * scale of its block, or 2^-142 if
/// that is more. A row with a NaN or an infinity is read back as NaN in every element. Other rows are not affected.
///
/// Do not change a cache while an attention call reads it. Forks may be used on different threads.
class KvCache {
 public:
  [[nodiscard]] static Status create(const KvCacheShape& shape, std::unique_ptr<KvCache>* cache);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  /// Appends tokens. If it fails the cache is as before. The cache does not remember their `lengths`: give them as
  /// `query_lengths` when queries of the same S tokens attend.
  [[nodiscard]] Status append(ThreadPool& pool, const NewTokens& tokens);
  /// attention() over this cache. It replaces inputs.cache. With `rotary` the query is turned first: row i of batch b
  /// by its position i + offset_b, or by inputs.query_positions. With cache_positions there must be no query_positions
  /// and inside.query. Scratch for `inside`: the queries as float32, if they
  /// are overwritten or shown; the output as float32, if head_outputs are and the output is not float32 or not wanted.
  [[nodiscard]] Status attend(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                              const AttentionOptions& options, const AttentionOutputs& outputs,
                              const AttendInside& inside = {}) const;
  /// `append`, then `attend`. A ring drops tokens only afterwards: the query at position p sees the first `keep_first`
  /// tokens and the `window` tokens up to its own, as if the tokens came one by one. The key rows of such a call are
  /// the tokens that the ring held and the new ones. If it fails, the cache is as before, unless it is a ring that has
  /// dropped a token for a single new one.
  [[nodiscard]] Status step(ThreadPool& pool, const NewTokens& tokens, const AttentionShape& shape,
                            const AttentionInputs& inputs, const AttentionOptions& options,
                            const AttentionOutputs& outputs, const AttendInside& inside = {});
  /// Forgets all tokens at positions >= `length`. Refused if a ring has already dropped tokens that it would hold at
  /// that length.
  [[nodiscard]] Status rewind(std::int64_t length);
  /// The same with a length for every batch, [B].
  [[nodiscard]] Status rewind_each(const std::int32_t* lengths);
  /// Reorders the batches: batch b then holds what batch indices[b] held, [B]. An index may come more than once: those
  /// batches share blocks until one of them writes. No row is copied. If it fails the cache is as before.
  [[nodiscard]] Status select(const std::int32_t* indices);
  /// Removes the tokens that `tokens` does not name. The others close the gaps between positions. A rotary
  /// cache turns the keys that move by the difference of their positions; the mean of int8 stays. The turned key is
  /// rounded once more to float32 (less than 5 * 2^-24 of the length of a pair of features) and to the dtype. Where
  /// from[b] is 0, the angles of the whole batch stay, and the tokens that follow the first kept one without a gap keep
  /// their bits. Keys that tables of cos and sin have turned cannot be turned again: refused. Refused too if a ring has
  /// dropped tokens of the batch, because it would hold them again. If it fails the cache is as before.
  [[nodiscard]] Status keep(ThreadPool& pool, const KeptTokens& tokens);
  /// A cache with the same content. The two share blocks until one of them writes (copy on write).
  [[nodiscard]] Status fork(std::unique_ptr<KvCache>* copy) const;
  /// A new cache of the same shape with key rows [from, to) of every batch, or those of them that a shorter batch has.
  /// Its positions start at 0. 0 <= from <= to <= max_length(). Rows keep their angles: if a ring has dropped tokens
  /// between two of them, their distance in the slice is that in the text, also with cache_positions.
  [[nodiscard]] Status slice(std::int64_t from, std::int64_t to, std::unique_ptr<KvCache>* part) const;

  /// The number of bytes that `save` writes.
  [[nodiscard]] std::int64_t saved_size() const;
  /// Writes the cache to `bytes`. Refused unless `size` is `saved_size()`.
  [[nodiscard]] Status save(std::uint8_t* bytes, std::int64_t size) const;
  /// Reads a saved cache. Checks magic, version, sizes and checksum before it builds anything. Refuses bytes that
  /// `save` never writes, but for positions that JavaScript adds at the end, which are passed over. Saving the cache
  /// again gives the same bytes, unless they are int8 of version 1, which had one scale for a whole row and no mean:
  /// then the same numbers are saved as version 2.
  [[nodiscard]] static Status load(const std::uint8_t* bytes, std::int64_t size, std::unique_ptr<KvCache>* cache);

  [[nodiscard]] const KvCacheShape& shape() const;
  /// Of a batch that the cache has not they are 0.
  [[nodiscard]] std::int64_t length(std::int64_t b) const;    ///< tokens held
  [[nodiscard]] std::int64_t appended(std::int64_t b) const;  ///< tokens ever appended, without those that were rewound
  [[nodiscard]] std::int64_t max_length() const;              ///< over all batches; 0 if there is no batch
  [[nodiscard]] std::int64_t bytes()
      const;  ///< of the blocks it holds; a block that batches or forks share counts in each

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
