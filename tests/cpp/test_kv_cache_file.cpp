#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/memory.h"
#include "headwise/kv_cache.h"
#include "headwise/thread_pool.h"
#include "kv_tokens.h"

namespace headwise::test_kv_cache_file {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kVersionAt = 8, kBatchSizeAt = 24, kHeadDimAt = 40, kWindowAt = 72, kAppendedAt = 88;

Status load(const Bytes& bytes, std::unique_ptr<KvCache>* cache) {
  return KvCache::load(bytes.data(), static_cast<std::int64_t>(bytes.size()), cache);
}

void expect_corrupt(const Bytes& bytes, const std::string& words) {
  std::unique_ptr<KvCache> cache;
  const Status status = load(bytes, &cache);
  EXPECT_EQ(status.code, StatusCode::corrupt_data) << status.message().text;
  EXPECT_NE(std::string(status.message().text).find(words), std::string::npos) << status.message().text;
  EXPECT_EQ(cache, nullptr);
}

void put(Bytes& bytes, std::size_t at, std::int64_t value) { std::memcpy(bytes.data() + at, &value, sizeof value); }

std::int64_t get(const Bytes& bytes, std::size_t at) {
  std::int64_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Makes the checksum right again, so that what was changed must be found by what it says.
Bytes sealed(Bytes bytes) {
  const std::uint32_t checksum = crc32(bytes.data(), static_cast<std::int64_t>(bytes.size()) - 4);
  std::memcpy(bytes.data() + bytes.size() - 4, &checksum, 4);
  return bytes;
}

KvCacheShape small_shape(Dtype dtype) {
  KvCacheShape shape;
  shape.batch_size = 2;
  shape.num_kv_heads = 2;
  shape.head_dim = 4;
  shape.value_dim = 3;
  shape.dtype = dtype;
  return shape;
}

std::unique_ptr<KvCache> small_cache(const KvCacheShape& shape, std::int64_t tokens, std::int32_t second_batch) {
  auto cache = make_cache(shape);
  const std::int32_t lengths[2] = {static_cast<std::int32_t>(tokens), second_batch};
  const Status status = Tokens(shape, tokens, 1).append(*cache, 0, tokens, Layout::bhsd, Dtype::float32, lengths);
  EXPECT_TRUE(status.ok()) << status.message().text;
  return cache;
}

std::vector<KvCacheShape> all_kinds() {
  std::vector<KvCacheShape> shapes;
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8}) {
    KvCacheShape shape = small_shape(dtype);
    shapes.push_back(shape);
    shape.keep_first = 3;
    shape.window = 140;
    shapes.push_back(shape);
    shape.rotary = RotaryOptions();
    shape.rotary->scaling = RotaryScaling::yarn;
    shape.rotary->factor = 4;
    shape.rotary->original_length = 64;
    shape.rotary->interleaved = true;
    shapes.push_back(shape);
  }
  return shapes;
}

TEST(KvCacheFile, PositionsBeforeItArePassedOver) {
  KvCacheShape shape;
  shape.num_kv_heads = 1, shape.head_dim = shape.value_dim = 4;
  const Tokens tokens(shape, 3, 5);
  const auto cache = make_cache(shape);
  ASSERT_TRUE(tokens.append(*cache, 0, 3).ok());
  const std::vector<std::uint8_t> bytes = saved(*cache);
  std::vector<std::uint8_t> more = bytes;
  // how such a file begins, the number of its bytes of positions and their sum, then the positions
  const std::uint8_t positions[] = {0x89, 'H', 'W', 'K', 'P', '\r', '\n', 0x1a, 8, 0, 0, 0,
                                    9,    9,   9,   9,   1,   2,    3,    4,    5, 6, 7, 8};
  more.insert(more.begin(), std::begin(positions), std::end(positions));
  std::unique_ptr<KvCache> loaded;
  ASSERT_TRUE(KvCache::load(more.data(), static_cast<std::int64_t>(more.size()), &loaded).ok());
  EXPECT_EQ(saved(*loaded), bytes);
  for (std::size_t size = 0; size < more.size(); ++size)
    EXPECT_FALSE(KvCache::load(more.data(), static_cast<std::int64_t>(size), &loaded).ok()) << size;
}

TEST(SavedKvCache, RoundTripIsBitExactAndGoesOnAsTheOriginal) {
  for (const KvCacheShape& shape : all_kinds()) {
    const auto original = small_cache(shape, 200, 90);
    const Bytes bytes = saved(*original);
    std::unique_ptr<KvCache> copy;
    ASSERT_TRUE(load(bytes, &copy).ok());
    EXPECT_EQ(saved(*copy), bytes);
    EXPECT_EQ(copy->appended(0), 200);
    EXPECT_EQ(copy->appended(1), 90);
    const Tokens more(shape, 100, 2);
    for (KvCache* cache : {original.get(), copy.get()}) ASSERT_TRUE(more.append(*cache, 0, 100).ok());
    EXPECT_EQ(saved(*copy), saved(*original));
  }
}

TEST(SavedKvCache, HoldsRowsOnlyNotWholeBlocks) {
  const auto one = small_cache(small_shape(Dtype::float32), 1, 1), two = small_cache(small_shape(Dtype::float32), 2, 2);
  EXPECT_EQ(two->saved_size() - one->saved_size(), 2 * 2 * (4 + 3) * 4);
}

TEST(SavedKvCache, AnEmptyOneComesBack) {
  const auto empty = make_cache(small_shape(Dtype::float16));
  std::unique_ptr<KvCache> copy;
  ASSERT_TRUE(load(saved(*empty), &copy).ok());
  EXPECT_EQ(copy->max_length(), 0);
  EXPECT_EQ(copy->shape().dtype, Dtype::float16);
}

/// What a header says is not what a file holds: 228 bytes took 0.8 s, for the angles of 2^26 features.
TEST(SavedKvCache, AnEmptyOneAllocatesWhatItsBytesNeedWhateverItsHeaderSays) {
  KvCacheShape shape = small_shape(Dtype::float32);
  shape.head_dim = std::int64_t{1} << 26;
  shape.rotary = RotaryOptions{};
  const Bytes bytes = saved(*make_cache(shape));
  static std::size_t allocated;
  allocated = 0;
  set_allocation_gate([](std::size_t count) { return allocated += count, true; });
  std::unique_ptr<KvCache> copy;
  const Status status = load(bytes, &copy);
  set_allocation_gate(nullptr);
  ASSERT_TRUE(status.ok()) << status.message().text;
  EXPECT_LT(allocated, 4096u);
  EXPECT_EQ(copy->shape().head_dim, shape.head_dim);
}

TEST(SavedKvCache, IsWrittenOnlyWhereItFitsExactly) {
  const auto cache = small_cache(small_shape(Dtype::int8), 5, 2);
  const std::int64_t size = cache->saved_size();
  for (const std::int64_t room : {std::int64_t{0}, size - 1, size + 1}) {
    Bytes bytes(static_cast<std::size_t>(room), 0xaa);
    const Status status = cache->save(bytes.data(), room);
    EXPECT_EQ(status.code, StatusCode::invalid_shape);
    EXPECT_NE(std::string(status.message().text).find(std::to_string(room)), std::string::npos)
        << status.message().text;
    EXPECT_EQ(bytes, Bytes(static_cast<std::size_t>(room), 0xaa));
  }
}

TEST(SavedKvCache, RefusesEveryTruncation) {
  const Bytes bytes = saved(*small_cache(small_shape(Dtype::int8), 5, 2));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    expect_corrupt(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)),
                   size < 8 ? "not a saved cache" : "truncated");
}

TEST(SavedKvCache, RefusesEveryFlippedBit) {
  const Bytes bytes = saved(*small_cache(small_shape(Dtype::int8), 5, 2));
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      Bytes damaged = bytes;
      damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ (1 << bit));
      expect_corrupt(damaged, at < 8 ? "not a saved cache" : at < 16 ? "version" : "damaged");
    }
}

TEST(SavedKvCache, RefusesTrailingAndForeignBytes) {
  Bytes bytes = saved(*small_cache(small_shape(Dtype::float32), 5, 2));
  Bytes longer = bytes;
  longer.insert(longer.end(), 16, 0);
  expect_corrupt(longer, "damaged");
  expect_corrupt(sealed(longer), "size");
  expect_corrupt(Bytes(1000, 0), "not a saved cache");
  put(bytes, kVersionAt, 3);
  expect_corrupt(sealed(bytes), "version 3");
  put(bytes, kVersionAt, 2);  // of int8 alone
  expect_corrupt(sealed(bytes), "impossible");
}

TEST(SavedKvCache, RefusesHeadersThatLieThoughTheChecksumIsRight) {
  const Bytes bytes = saved(*small_cache(small_shape(Dtype::float32), 5, 2));
  ASSERT_EQ(get(bytes, kBatchSizeAt), 2);  // the offsets in this file are where the numbers are
  ASSERT_EQ(get(bytes, kHeadDimAt), 4);
  ASSERT_EQ(get(bytes, kAppendedAt), 5);
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const auto lying = [&](std::size_t at, std::int64_t value) {
    Bytes changed = bytes;
    put(changed, at, value);
    return sealed(changed);
  };
  for (std::size_t at = 16; at < kAppendedAt + 32; at += 8)
    for (const std::int64_t value : {std::int64_t{-1}, kHuge, -kHuge}) {
      std::unique_ptr<KvCache> cache;
      const Status status = load(lying(at, value), &cache);
      EXPECT_FALSE(status.ok()) << "number at " << at << " = " << value;
    }
  expect_corrupt(lying(kBatchSizeAt, 3), "");
  expect_corrupt(lying(kHeadDimAt, 5), "size");
  expect_corrupt(lying(kWindowAt, 3), "size");
  expect_corrupt(lying(kAppendedAt, 6), "size");
  expect_corrupt(lying(kAppendedAt, std::int64_t{1} << 31), "impossible");
}

constexpr double kShortFactors[] = {1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7};
constexpr double kLongFactors[] = {1.0, 2.1, 3.2, 4.3, 5.4, 6.5, 7.6, 8.7};
constexpr float kCosines[32] = {1.0f, 0.5f}, kSines[32] = {0.0f, 0.25f};

TEST(SavedKvCache, RefusesArraysOfARotaryEmbeddingThatDoNotFitItsSize) {
  constexpr std::size_t kArraysAt = 8 + 25 * 8;
  KvCacheShape shape = small_shape(Dtype::float32);
  shape.rotary = RotaryOptions{.scaling = RotaryScaling::tables, .cosines = kCosines, .sines = kSines, .table_rows = 4};
  Bytes forged = saved(*small_cache(shape, 3, 2));
  ASSERT_EQ(get(forged, kArraysAt), 4);
  for (const std::int64_t rows : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{5}, std::int64_t{1} << 62}) {
    put(forged, kArraysAt, rows);
    expect_corrupt(sealed(forged), "");
  }
  shape.rotary = RotaryOptions{.scaling = RotaryScaling::frequencies, .frequencies = kShortFactors};
  forged = saved(*small_cache(shape, 3, 2));
  put(forged, kArraysAt, std::int64_t{0x7ff} << 52);  // an infinity
  expect_corrupt(sealed(forged), "frequencies must be finite");
}

TEST(SavedKvCache, AnEmptyOneComesBackWithTheArraysOfItsRotaryEmbedding) {
  for (const RotaryOptions& rotary :
       {RotaryOptions{.scaling = RotaryScaling::tables, .cosines = kCosines, .sines = kSines, .table_rows = 16},
        RotaryOptions{.scaling = RotaryScaling::frequencies, .frequencies = kShortFactors}}) {
    for (const std::int64_t batch_size : {2, 0}) {
      KvCacheShape shape = small_shape(Dtype::float32);
      shape.batch_size = batch_size;
      shape.rotary = rotary;
      const Bytes bytes = saved(*make_cache(shape));
      std::unique_ptr<KvCache> copy;
      const Status status = load(bytes, &copy);
      ASSERT_TRUE(status.ok()) << status.message().text;
      EXPECT_EQ(copy->shape().rotary->table_rows, rotary.table_rows);
      EXPECT_EQ(saved(*copy), bytes);
    }
  }
}

TEST(SavedKvCache, KeepsTheNumbersOfEveryRotaryScaling) {
  const RotaryOptions scalings[] = {
      {.base = 500, .interleaved = true},
      {.scaling = RotaryScaling::linear, .factor = 2},
      {.scaling = RotaryScaling::ntk, .factor = 3},
      {.scaling = RotaryScaling::dynamic_ntk, .factor = 4, .original_length = 8, .sequence_length = 16},
      {.scaling = RotaryScaling::yarn,
       .factor = 5,
       .original_length = 8,
       .beta_fast = 30,
       .beta_slow = 2,
       .truncate = false,
       .attention_factor = 1.5,
       .mscale = 0.5,
       .mscale_all_dim = 0.25},
      {.scaling = RotaryScaling::llama3,
       .factor = 6,
       .original_length = 8,
       .low_freq_factor = 2,
       .high_freq_factor = 8},
      {.scaling = RotaryScaling::longrope,
       .factor = 7,
       .original_length = 8,
       .sequence_length = 9,
       .attention_factor = 1.25,
       .short_factors = kShortFactors,
       .long_factors = kLongFactors},
      {.scaling = RotaryScaling::frequencies, .attention_factor = 1.5, .frequencies = kShortFactors},
      {.scaling = RotaryScaling::tables, .cosines = kCosines, .sines = kSines, .table_rows = 4},
  };
  for (const RotaryOptions& given : scalings) {
    KvCacheShape shape = small_shape(Dtype::float32);
    shape.rotary = given;
    std::unique_ptr<KvCache> cache;
    ASSERT_TRUE(load(saved(*small_cache(shape, 3, 2)), &cache).ok());
    ASSERT_TRUE(cache->shape().rotary.has_value());
    const RotaryOptions& read = *cache->shape().rotary;
    EXPECT_EQ(read.scaling, given.scaling);
    for (const auto number : {&RotaryOptions::base, &RotaryOptions::factor, &RotaryOptions::original_length,
                              &RotaryOptions::sequence_length, &RotaryOptions::beta_fast, &RotaryOptions::beta_slow,
                              &RotaryOptions::attention_factor, &RotaryOptions::mscale, &RotaryOptions::mscale_all_dim,
                              &RotaryOptions::low_freq_factor, &RotaryOptions::high_freq_factor})
      EXPECT_EQ(read.*number, given.*number) << static_cast<int>(given.scaling);
    EXPECT_EQ(read.interleaved, given.interleaved);
    EXPECT_EQ(read.truncate, given.truncate);
    const std::int64_t half = shape.head_dim / 2;
    const auto expect_list = [](const auto* list, const auto* expected, std::int64_t count) {
      for (std::int64_t n = 0; expected && n < count; ++n) EXPECT_EQ(list[n], expected[n]) << n;
    };
    expect_list(read.short_factors, given.short_factors, half);
    expect_list(read.long_factors, given.long_factors, half);
    expect_list(read.frequencies, given.frequencies, half);
    expect_list(read.cosines, given.cosines, half * given.table_rows);
    expect_list(read.sines, given.sines, half * given.table_rows);
    EXPECT_EQ(read.table_rows, given.table_rows);
    EXPECT_EQ(saved(*cache), saved(*small_cache(shape, 3, 2)));
  }
}

TEST(SavedKvCache, RemembersThatTokensWereGivenPositionsWhichKeepDoesNotTurn) {
  constexpr std::size_t kTurnsAt = 80;
  KvCacheShape shape = small_shape(Dtype::float32);
  shape.rotary = RotaryOptions();
  const std::vector<float> key(32, 0.5f), value(24, 0.25f);  // two equal tokens in each batch
  const std::int32_t indices[] = {0, 1, 0, 1}, given[] = {4, 4, 9, 9};
  ThreadPool pool(1);
  const auto with = [&](const std::int32_t* positions) {
    auto cache = make_cache(shape);
    const NewTokens tokens{Layout::bhsd, 2, {key.data()}, {value.data()}, nullptr, positions};
    EXPECT_TRUE(cache->append(pool, tokens).ok());
    return cache;
  };
  Bytes same = saved(*with(indices));
  EXPECT_EQ(get(same, kTurnsAt), 2);
  put(same, kTurnsAt, 1);
  EXPECT_EQ(sealed(same), saved(*with(nullptr)));
  put(same, kTurnsAt, 3);
  expect_corrupt(sealed(same), "impossible");

  std::unique_ptr<KvCache> kept, part, first = with(given);
  ASSERT_TRUE(load(saved(*first), &kept).ok());
  const std::int32_t from[] = {0, 0}, counts[] = {1, 1}, rows[] = {1, 1};
  EXPECT_TRUE(kept->keep(pool, {from, counts, rows}).ok());
  // Later tokens then stand behind those that are left, as in a slice.
  EXPECT_TRUE(first->slice(1, 2, &part).ok());
  EXPECT_EQ(saved(*kept), saved(*part));
  EXPECT_TRUE(first->rewind(0).ok());
  EXPECT_EQ(saved(*first), saved(*make_cache(shape)));
}

TEST(SavedKvCache, RemembersThatPositionsArePlacesWhichOnlyRotaryRingsHave) {
  constexpr std::size_t kTurnsAt = 80;
  KvCacheShape shape = small_shape(Dtype::float32);
  shape.rotary = RotaryOptions();
  shape.keep_first = 1, shape.window = 2;
  shape.cache_positions = true;
  Bytes bytes = saved(*small_cache(shape, 3, 2));
  EXPECT_EQ(get(bytes, kTurnsAt), 3);
  std::unique_ptr<KvCache> copy;
  ASSERT_TRUE(load(bytes, &copy).ok());
  EXPECT_TRUE(copy->shape().cache_positions);
  EXPECT_EQ(saved(*copy), bytes);
  put(bytes, kTurnsAt, 1);
  shape.cache_positions = false;
  EXPECT_EQ(sealed(bytes), saved(*small_cache(shape, 3, 2)));
  put(bytes, kTurnsAt, 4);
  expect_corrupt(sealed(bytes), "impossible");
}

TEST(SavedKvCache, LeavesOutWhatTheAnglesDoNotUse) {
  KvCacheShape plain = small_shape(Dtype::float32), idle = plain;
  plain.rotary = RotaryOptions();
  idle.rotary = RotaryOptions{.factor = 3, .original_length = 5, .beta_fast = 7, .truncate = false, .mscale = 0.5};
  const auto cache = make_cache(idle);
  EXPECT_EQ(saved(*cache), saved(*make_cache(plain)));
  std::unique_ptr<KvCache> copy;
  EXPECT_TRUE(load(saved(*cache), &copy).ok());

  constexpr std::size_t kFactorAt = 120;
  Bytes forged = saved(*cache);
  ASSERT_EQ(get(forged, kFactorAt), std::int64_t{0x3ff} << 52);  // 1
  put(forged, kFactorAt, 0);
  expect_corrupt(sealed(forged), "impossible");
}

TEST(Checksum, IsTheCommonCrc32AtEveryLength) {
  const auto* digits = reinterpret_cast<const std::uint8_t*>("123456789");
  EXPECT_EQ(crc32(digits, 9), 0xcbf43926u);  // the check value of the published algorithm
  EXPECT_EQ(crc32(digits, 0), 0u);
  Bytes bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 + 11);
  for (std::int64_t count = 0; count <= 100; ++count) {
    std::uint32_t crc = 0xffffffffu;  // a bit at a time
    for (std::int64_t i = 0; i < count; ++i) {
      crc ^= bytes[static_cast<std::size_t>(i)];
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
    }
    EXPECT_EQ(crc32(bytes.data(), count), ~crc) << count;
  }
}

}  // namespace headwise::test_kv_cache_file
