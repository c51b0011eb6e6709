#include "kv_tokens.h"

#include "base/numbers.h"
#include "reference/reference.h"
#include "source/key_value_source.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

constexpr std::uint32_t kKeyStream = 2, kValueStream = 3;

float element(const RowRun& run, std::int64_t row, std::int64_t column) {
  const std::int64_t at = row * run.row_stride + column * run.column_stride;
  switch (run.dtype) {
    case Dtype::float32:
      return static_cast<const float*>(run.data)[at];
    case Dtype::float16:
      return half_to_float(static_cast<const std::uint16_t*>(run.data)[at]);
    case Dtype::int8:
    case Dtype::bfloat16:
      break;
  }
  return static_cast<float>(static_cast<const std::int8_t*>(run.data)[at]) * run.scale(row, column);
}

}  // namespace

Tokens::Tokens(const KvCacheShape& shape, std::int64_t length, std::uint32_t seed)
    : shape_(shape),
      length_(length),
      key_(cases::random_array(Dtype::float32, shape.batch_size * shape.num_kv_heads * length * shape.head_dim, seed,
                               kKeyStream)),
      value_(cases::random_array(Dtype::float32, shape.batch_size * shape.num_kv_heads * length * shape.value_dim, seed,
                                 kValueStream)) {}

cases::Array Tokens::chunk(const cases::Array& all, std::int64_t width, std::int64_t from, std::int64_t count,
                           Layout layout, Dtype dtype) const {
  const std::int64_t heads = shape_.num_kv_heads;
  cases::Array part(dtype, shape_.batch_size * heads * count * width);
  for (std::int64_t b = 0; b < shape_.batch_size; ++b)
    for (std::int64_t g = 0; g < heads; ++g)
      for (std::int64_t s = 0; s < count; ++s)
        for (std::int64_t d = 0; d < width; ++d)
          part.set(reference::element_index(layout, heads, count, width, b, g, s, d),
                   all.get(((b * heads + g) * length_ + from + s) * width + d));
  return part;
}

Status Tokens::append(KvCache& cache, std::int64_t from, std::int64_t count, Layout layout, Dtype dtype,
                      const std::int32_t* lengths, int threads) const {
  const cases::Array key = chunk(key_, shape_.head_dim, from, count, layout, dtype);
  const cases::Array value = chunk(value_, shape_.value_dim, from, count, layout, dtype);
  return cache.append(pool_of(threads), {layout, count, key.view(), value.view(), lengths});
}

NewTokens Tokens::chunk_of(std::int64_t from, std::int64_t count, const std::int32_t* lengths, cases::Array* key,
                           cases::Array* value) const {
  *key = chunk(key_, shape_.head_dim, from, count, Layout::bhsd, Dtype::float32);
  *value = chunk(value_, shape_.value_dim, from, count, Layout::bhsd, Dtype::float32);
  return {Layout::bhsd, count, key->view(), value->view(), lengths};
}

float Tokens::key(std::int64_t b, std::int64_t g, std::int64_t s, std::int64_t d) const {
  return static_cast<float>(key_.get(((b * shape_.num_kv_heads + g) * length_ + s) * shape_.head_dim + d));
}

float Tokens::value(std::int64_t b, std::int64_t g, std::int64_t s, std::int64_t d) const {
  return static_cast<float>(value_.get(((b * shape_.num_kv_heads + g) * length_ + s) * shape_.value_dim + d));
}

void Tokens::set_key(std::int64_t b, std::int64_t g, std::int64_t s, std::int64_t d, float x) {
  key_.set(((b * shape_.num_kv_heads + g) * length_ + s) * shape_.head_dim + d, x);
}

void Tokens::set_value(std::int64_t b, std::int64_t g, std::int64_t s, std::int64_t d, float x) {
  value_.set(((b * shape_.num_kv_heads + g) * length_ + s) * shape_.value_dim + d, x);
}

cases::Case Tokens::dense_call(std::int64_t num_heads, std::int64_t queries, std::uint32_t seed) const {
  cases::Case call = random_case(
      {shape_.batch_size, num_heads, shape_.num_kv_heads, queries, length_, shape_.head_dim, shape_.value_dim}, seed);
  call.key = key_;
  call.value = value_;
  return call;
}

std::unique_ptr<KvCache> make_cache(const KvCacheShape& shape) {
  std::unique_ptr<KvCache> cache;
  const Status status = KvCache::create(shape, &cache);
  EXPECT_TRUE(status.ok()) << status.message().text;
  return cache;
}

std::vector<HeldRow> held_rows(const KvCache& cache, std::int64_t b, std::int64_t g) {
  const KvCacheSource source(cache);
  const float* const mean = source.key_mean(b, g);
  std::vector<HeldRow> rows(static_cast<std::size_t>(cache.length(b)));
  for (std::int64_t j = 0, count = 0; j < cache.length(b); j += count) {
    const RowRun keys = source.keys(b, g, j, cache.length(b) - j), values = source.values(b, g, j, keys.count);
    count = values.count;
    EXPECT_GE(count, 1);
    for (std::int64_t r = 0; r < count; ++r) {
      HeldRow& row = rows[static_cast<std::size_t>(j + r)];
      row.position = cache.store().positions(b).of(j + r);
      for (std::int64_t d = 0; d < cache.shape().head_dim; ++d)
        row.key.push_back(element(keys, r, d) + (mean ? mean[d] : 0.0f));
      for (std::int64_t d = 0; d < cache.shape().value_dim; ++d) row.value.push_back(element(values, r, d));
    }
  }
  return rows;
}

Tokens held_tokens(const KvCache& cache) {
  const KvCacheShape& shape = cache.shape();
  Tokens tokens(shape, cache.max_length(), 0);
  for (std::int64_t b = 0; b < shape.batch_size; ++b)
    for (std::int64_t g = 0; g < shape.num_kv_heads; ++g) {
      const std::vector<HeldRow> rows = held_rows(cache, b, g);
      EXPECT_EQ(static_cast<std::int64_t>(rows.size()), tokens.length());
      for (std::int64_t s = 0; s < static_cast<std::int64_t>(rows.size()); ++s) {
        const HeldRow& row = rows[static_cast<std::size_t>(s)];
        for (std::int64_t d = 0; d < shape.head_dim; ++d) tokens.set_key(b, g, s, d, row.key[d]);
        for (std::int64_t d = 0; d < shape.value_dim; ++d) tokens.set_value(b, g, s, d, row.value[d]);
      }
    }
  return tokens;
}

std::vector<std::uint8_t> saved(const KvCache& cache) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(cache.saved_size()));
  const Status status = cache.save(bytes.data(), cache.saved_size());
  EXPECT_TRUE(status.ok()) << status.message().text;
  return bytes;
}

}  // namespace headwise
