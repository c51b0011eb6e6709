#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness.h"
#include "headwise/kv_cache.h"

namespace headwise {

/// Keys and values of the tokens that a test puts into caches, [B, Hkv, length, D] and [B, Hkv, length, Dv], float32.
class Tokens {
 public:
  Tokens(const KvCacheShape& shape, std::int64_t length, std::uint32_t seed);

  /// Tokens [from, from + count) of every batch, or lengths[b] of them, appended in `layout`.
  [[nodiscard]] Status append(KvCache& cache, std::int64_t from, std::int64_t count, Layout layout = Layout::bhsd,
                              Dtype dtype = Dtype::float32, const std::int32_t* lengths = nullptr,
                              int threads = 1) const;

  /// The same tokens as a step appends them. The arrays must live as long as the step.
  [[nodiscard]] NewTokens chunk_of(std::int64_t from, std::int64_t count, const std::int32_t* lengths,
                                   cases::Array* key, cases::Array* value) const;

  /// Feature d of the key or value of token s.
  [[nodiscard]] float key(std::int64_t b, std::int64_t g, std::int64_t s, std::int64_t d) const;
  [[nodiscard]] float value(std::int64_t b, std::int64_t g, std::int64_t s, std::int64_t d) const;
  void set_key(std::int64_t b, std::int64_t g, std::int64_t s, std::int64_t d, float x);
  void set_value(std::int64_t b, std::int64_t g, std::int64_t s, std::int64_t d, float x);

  /// A call that sees all of them: `queries` random query rows, no options yet.
  [[nodiscard]] cases::Case dense_call(std::int64_t num_heads, std::int64_t queries, std::uint32_t seed) const;

  [[nodiscard]] std::int64_t length() const { return length_; }

 private:
  [[nodiscard]] cases::Array chunk(const cases::Array& all, std::int64_t width, std::int64_t from, std::int64_t count,
                                   Layout layout, Dtype dtype) const;

  KvCacheShape shape_;
  std::int64_t length_;
  cases::Array key_, value_;
};

[[nodiscard]] std::unique_ptr<KvCache> make_cache(const KvCacheShape& shape);

/// One key row with its value as the cache gives it back, with its scales and the mean of its keys.
struct HeldRow {
  std::int64_t position = 0;
  std::vector<float> key, value;
};

/// All rows of kv head g of batch b, in order, read run by run as the kernels do.
[[nodiscard]] std::vector<HeldRow> held_rows(const KvCache& cache, std::int64_t b, std::int64_t g);

/// What the cache holds as dense arrays, for a reference that is to see the very same numbers. Every batch must hold
/// equally many rows.
[[nodiscard]] Tokens held_tokens(const KvCache& cache);

[[nodiscard]] std::vector<std::uint8_t> saved(const KvCache& cache);

}  // namespace headwise
