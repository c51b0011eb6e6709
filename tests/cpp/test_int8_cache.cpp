#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/numbers.h"
#include "expectations.h"
#include "headwise/kv_cache.h"
#include "kv_tokens.h"
#include "reference/reference.h"
#include "source/kv_cache_store.h"

namespace headwise::test_int8_cache {

using cases::Array;
using cases::Case;
using cases::Results;

constexpr std::int64_t kConstantFeature = 37;
constexpr std::int64_t kKeys = 256;

KvCacheShape int8_of(std::int64_t head_dim, std::int64_t value_dim, std::int64_t batch_size = 1) {
  KvCacheShape shape;
  shape.batch_size = batch_size;
  shape.num_kv_heads = 2;
  shape.head_dim = head_dim;
  shape.value_dim = value_dim;
  shape.dtype = Dtype::int8;
  return shape;
}

/// A normal number, from two words of the generator.
double normal(std::uint32_t seed, std::uint32_t k) {
  const double u = (cases::word(seed, 9, 2 * k) + 1.0) * 0x1p-32, angle = cases::word(seed, 9, 2 * k + 1) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * angle);
}

/// Keys of standard deviation 2, with `size` added to one feature, as the bias of Qwen 2's key projection adds it.
Tokens with_constant(const KvCacheShape& shape, float size, std::int64_t length = kKeys) {
  Tokens tokens(shape, length, 5);
  std::uint32_t k = 0;
  for (std::int64_t b = 0; b < shape.batch_size; ++b)
    for (std::int64_t g = 0; g < shape.num_kv_heads; ++g)
      for (std::int64_t s = 0; s < length; ++s)
        for (std::int64_t d = 0; d < shape.head_dim; ++d)
          tokens.set_key(b, g, s, d, static_cast<float>(2.0 * normal(5, k++)) + (d == kConstantFeature ? size : 0.0f));
  return tokens;
}

Results attend(const KvCache& cache, const Case& call, int threads = 2) {
  Results results(call.shape, call.returns, Dtype::float32);
  AttentionInputs inputs = call.inputs();
  inputs.key = inputs.value = {};
  const Status status = cache.attend(pool_of(threads), call.shape, inputs, call.options(), results.view());
  EXPECT_TRUE(status.ok()) << status.message().text;
  return results;
}

/// The share of the weights of `probs` that lies on other keys than in the weights of exact keys, on average over rows.
double moved(const Case& call, const std::vector<float>& probs, const std::vector<reference::Head>& heads) {
  const AttentionShape& shape = call.shape;
  double sum = 0;
  for (std::int64_t h = 0; h < shape.num_heads; ++h)
    for (std::int64_t i = 0; i < shape.query_length; ++i)
      for (std::int64_t j = 0; j < shape.key_length; ++j)
        sum += std::abs(probs[(h * shape.query_length + i) * shape.key_length + j] - heads[h].probs(i, j));
  return sum / 2 / static_cast<double>(shape.num_heads * shape.query_length);
}

/// The same keys with one scale for every 32 numbers and no mean, as llama.cpp's q8_0 stores them.
Case as_q8_0(Case call) {
  for (std::int64_t first = 0; first < call.key.size(); first += 32) {
    double largest = 0;
    for (std::int64_t n = first; n < first + 32; ++n) largest = std::max(largest, std::abs(call.key.get(n)));
    for (std::int64_t n = first; n < first + 32; ++n)
      call.key.set(n, std::round(call.key.get(n) / (largest / 127)) * (largest / 127));
  }
  return call;
}

TEST(Int8Cache, AConstantFeatureMovesLessThanAHundredthOfTheWeight) {
  const KvCacheShape shape = int8_of(128, 128);
  for (const float size : {0.0f, 50.0f, 100.0f, 200.0f, 400.0f})
    for (const std::int64_t queries : {1, 40}) {
      const Tokens tokens = with_constant(shape, size);
      const auto cache = make_cache(shape);
      ASSERT_OK(tokens.append(*cache, 0, kKeys));
      Case call = tokens.dense_call(4, queries, 12);
      for (std::int64_t n = 0; n < call.query.size(); ++n) call.query.set(n, normal(6, static_cast<std::uint32_t>(n)));
      call.returns.probs.emplace();
      const auto exact = reference::attention(call.shape, call.inputs(), call.options());
      const Case other = as_q8_0(call);
      const auto q8_0 = reference::attention(other.shape, other.inputs(), other.options());
      std::vector<float> theirs;
      for (std::int64_t h = 0; h < 4; ++h)
        for (std::int64_t i = 0; i < queries; ++i)
          for (std::int64_t j = 0; j < kKeys; ++j) theirs.push_back(static_cast<float>(q8_0[h].probs(i, j)));
      const double ours = moved(call, attend(*cache, call).probs, exact);
      EXPECT_LE(ours, 0.01) << size;
      EXPECT_LE(ours, moved(call, theirs, exact) * 1.02) << size;
    }
}

/// The error that the header states, for rows that are no multiple of a block.
TEST(Int8Cache, EveryElementIsWithinHalfTheScaleOfItsBlock) {
  for (const std::int64_t width : {40, 64, 7}) {
    const KvCacheShape shape = int8_of(width, width + 5);
    const Tokens tokens = with_constant(shape, 400.0f, 100);
    const auto cache = make_cache(shape);
    ASSERT_OK(tokens.append(*cache, 0, 60));
    ASSERT_OK(tokens.append(*cache, 60, 40));
    const float* const mean = cache->store().key_mean(0, 1);
    const std::vector<HeldRow> rows = held_rows(*cache, 0, 1);
    const auto expect_near = [&](const std::vector<float>& held, auto exact, const float* m) {
      const auto count = static_cast<std::int64_t>(held.size());
      for (std::int64_t first = 0; first < count; first += kScaleBlock) {
        const std::int64_t end = std::min(first + kScaleBlock, count);
        float largest = 0;
        for (std::int64_t d = first; d < end; ++d) largest = std::max(largest, std::abs(exact(d) - (m ? m[d] : 0.0f)));
        for (std::int64_t d = first; d < end; ++d) {
          const double rounded = std::abs(exact(d)) * 0x1p-23;  // of x - mean, and of the sum here
          ASSERT_LE(std::abs(double{held[d]} - exact(d)), (0.5 + 0x1p-17) * largest / 127.0 + (m ? rounded : 0.0));
        }
      }
    };
    for (std::int64_t j = 0; j < 100; ++j) {
      expect_near(
          rows[j].key, [&](std::int64_t d) { return tokens.key(0, 1, j, d); }, mean);
      expect_near(
          rows[j].value, [&](std::int64_t d) { return tokens.value(0, 1, j, d); }, nullptr);
    }
    if (width > kConstantFeature) {
      EXPECT_NEAR(mean[kConstantFeature], 400.0f, 2.0f);
      EXPECT_EQ(mean[0], 0.0f);  // chance
    }
  }
}

TEST(Int8Cache, ScoresLseAndEntropyAreThoseOfTheKeysThatItHolds) {
  const KvCacheShape shape = int8_of(48, 40, 2);
  const Tokens tokens = with_constant(shape, 50.0f, 150);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 150));
  for (const std::int64_t queries : {1, 33}) {
    Case call = tokens.dense_call(4, queries, 12);
    call.scalars.softcap = 30.0f;
    call.sinks = {0.5f, 9.0f, 1.0f, 2.0f};
    call.returns.entropy = true;
    call.returns.scores.emplace();
    AttentionInputs inputs = call.inputs();
    inputs.key = inputs.value = {};
    inputs.cache = cache.get();
    const auto heads = reference::attention(call.shape, inputs, call.options());
    const Results results = attend(*cache, call);
    for (std::int64_t head = 0; head < 8; ++head)
      for (std::int64_t i = 0; i < queries; ++i) {
        const std::int64_t row = head * queries + i;
        EXPECT_NEAR(results.lse[row], heads[head].lse(i), 2e-4);
        EXPECT_NEAR(results.entropy[row], heads[head].entropy(i), 2e-4);
        for (std::int64_t d = 0; d < 40; ++d)
          EXPECT_NEAR(results.output.get(row * 40 + d), heads[head].output(i, d), 2e-4);
        double score = 0;
        const auto held = held_rows(*cache, head / 4, head % 4 / 2);
        for (std::int64_t d = 0; d < 48; ++d) score += call.query.get(row * 48 + d) * held[7].key[d];
        EXPECT_NEAR(results.scores[row * 150 + 7], score / std::sqrt(48.0), 2e-4);
      }
  }
}

TEST(Int8Cache, ARowThatSeesNoKeyHasTheMeanOfTheHeldValues) {
  for (const std::int64_t width : {8, 65, 100, 200}) {
    const KvCacheShape shape = int8_of(8, width);
    Tokens tokens(shape, 5, 7);
    for (std::int64_t s = 0; s < 5; ++s)  // each block has a scale of its own
      for (std::int64_t d = 0; d < width; ++d)
        tokens.set_value(0, 1, s, d, static_cast<float>((d / kScaleBlock + 1) * (s + 1)));
    const auto cache = make_cache(shape);
    ASSERT_OK(tokens.append(*cache, 0, 5));
    Case call = tokens.dense_call(2, 1, 8);
    call.scalars.empty_rows = EmptyRows::uniform;
    call.scalars.causal = Causal::upper_left;
    call.query_offset = {-1};
    const Results results = attend(*cache, call);
    const std::vector<HeldRow> rows = held_rows(*cache, 0, 1);
    for (std::int64_t d = 0; d < width; ++d) {
      double mean = 0;
      for (const HeldRow& row : rows) mean += row.value[d] / 5.0;
      EXPECT_NEAR(results.output.get(width + d), mean, 4 * 0x1p-24 * mean) << "feature " << d << " of " << width;
    }
  }
}

TEST(Int8Cache, ARowThatIsNotFiniteIsNotInTheMean) {
  const KvCacheShape shape = int8_of(64, 8);
  Tokens tokens = with_constant(shape, 100.0f, 20);
  const auto clean = make_cache(shape), poisoned = make_cache(shape);
  ASSERT_OK(tokens.append(*clean, 0, 19));
  tokens.set_key(0, 1, 19, 3, std::numeric_limits<float>::infinity());
  tokens.set_key(0, 0, 19, 63, std::numeric_limits<float>::quiet_NaN());
  ASSERT_OK(tokens.append(*poisoned, 0, 20));
  for (std::int64_t g = 0; g < 2; ++g) {
    const auto rows = held_rows(*poisoned, 0, g), expected = held_rows(*clean, 0, g);
    for (std::size_t j = 0; j < 19; ++j) EXPECT_EQ(rows[j].key, expected[j].key);
    for (const float x : rows[19].key) EXPECT_TRUE(std::isnan(x));
  }
  const auto none = make_cache(shape);
  ASSERT_OK(tokens.append(*none, 19, 1));
  EXPECT_EQ(none->store().key_mean(0, 0)[0], 0.0f);
}

TEST(Int8Cache, TheMeanStaysUntilTheBatchIsEmptyAgain) {
  const KvCacheShape shape = int8_of(64, 8, 2);
  const Tokens high = with_constant(shape, 100.0f, 60), low = with_constant(shape, -100.0f, 60);
  const auto cache = make_cache(shape);
  const auto mean = [&](std::int64_t b) { return cache->store().key_mean(b, 1)[kConstantFeature]; };
  const std::int32_t first[2] = {60, 0}, second[2] = {0, 60}, emptied[2] = {0, 30};
  ASSERT_OK(high.append(*cache, 0, 60, Layout::bhsd, Dtype::float32, first));
  ASSERT_OK(low.append(*cache, 0, 60, Layout::bhsd, Dtype::float32, second));
  EXPECT_NEAR(mean(0), 100.0f, 1.0f);
  EXPECT_NEAR(mean(1), -100.0f, 1.0f);
  std::unique_ptr<KvCache> fork, part;
  ASSERT_OK(cache->fork(&fork));
  ASSERT_OK(cache->slice(5, 9, &part));
  const std::int32_t swapped[2] = {1, 0};
  ASSERT_OK(part->select(swapped));
  EXPECT_EQ(part->store().key_mean(0, 1)[kConstantFeature], mean(1));
  EXPECT_EQ(held_rows(*part, 0, 1)[0].key, held_rows(*cache, 1, 1)[5].key);
  ASSERT_OK(cache->rewind_each(emptied));
  ASSERT_OK(low.append(*cache, 0, 60));
  EXPECT_NEAR(mean(0), -100.0f, 1.0f);
  EXPECT_NEAR(fork->store().key_mean(0, 1)[kConstantFeature], 100.0f, 1.0f);
}

/// A file of version 1: 2 heads, headDim 40, valueDim 3, one token. It has a scale for each row, and no means.
std::vector<std::uint8_t> version_1() {
  const std::int64_t header[] = {1, 2, 1, 2, 40, 3, 0, 0, 0, 0, 1, 0};
  std::vector<std::uint8_t> bytes = {0x89, 'H', 'W', 'K', 'V', '\r', '\n', 0x1a};
  const auto put = [&](const void* from, std::size_t count) {
    const auto* const first = static_cast<const std::uint8_t*>(from);
    bytes.insert(bytes.end(), first, first + count);
  };
  put(header, sizeof header);
  for (int g = 0; g < 2; ++g)
    for (const int width : {40, 3}) {
      for (int d = 0; d < width; ++d) bytes.push_back(static_cast<std::uint8_t>(d - 5));
      const float scale = width == 40 ? 0.5f : 0.25f;
      put(&scale, sizeof scale);
    }
  const std::uint32_t checksum = crc32(bytes.data(), static_cast<std::int64_t>(bytes.size()));
  put(&checksum, sizeof checksum);
  return bytes;
}

TEST(Int8Cache, ReadsFilesOfVersion1AndSavesVersion2) {
  const std::vector<std::uint8_t> old = version_1();
  std::unique_ptr<KvCache> cache, again;
  ASSERT_OK(KvCache::load(old.data(), static_cast<std::int64_t>(old.size()), &cache));
  const auto expect_rows = [](const KvCache& held) {
    const HeldRow row = held_rows(held, 0, 1)[0];
    for (std::int64_t d = 0; d < 40; ++d) EXPECT_EQ(row.key[d], 0.5f * static_cast<float>(d - 5));
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(row.value[d], 0.25f * static_cast<float>(d - 5));
  };
  expect_rows(*cache);
  const std::vector<std::uint8_t> bytes = saved(*cache);
  EXPECT_EQ(bytes[8], 2);
  ASSERT_OK(KvCache::load(bytes.data(), static_cast<std::int64_t>(bytes.size()), &again));
  expect_rows(*again);
  EXPECT_EQ(saved(*again), bytes);
}

TEST(Int8Cache, FilesOfOtherTypesHaveVersion1) {
  KvCacheShape shape = int8_of(4, 4);
  shape.dtype = Dtype::float16;
  EXPECT_EQ(saved(*make_cache(shape))[8], 1);
}

}  // namespace headwise::test_int8_cache
