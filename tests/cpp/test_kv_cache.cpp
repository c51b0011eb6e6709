#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "expectations.h"
#include "headwise/kv_cache.h"
#include "kv_tokens.h"
#include "refusals.h"
#include "source/kv_cache_store.h"

namespace headwise::test_kv_cache {

using cases::Array;
using cases::Case;
using cases::Results;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

KvCacheShape shape_of(Dtype dtype, std::int64_t batch_size = 2, std::int64_t num_kv_heads = 2) {
  KvCacheShape shape;
  shape.batch_size = batch_size;
  shape.num_kv_heads = num_kv_heads;
  shape.head_dim = 12;
  shape.value_dim = 7;
  shape.dtype = dtype;
  return shape;
}

KvCacheShape ring_of(std::int64_t keep_first, std::int64_t window) {
  KvCacheShape shape = shape_of(Dtype::float32);
  shape.keep_first = keep_first;
  shape.window = window;
  return shape;
}

void expect_refused(const Status& status, StatusCode code, const std::string& words) {
  EXPECT_EQ(status.code, code) << status.message().text;
  EXPECT_NE(std::string(status.message().text).find(words), std::string::npos) << status.message().text;
}

/// Fails unless batch b holds exactly the tokens at `positions`, bit for bit, in every head.
void expect_holds(const KvCache& cache, const Tokens& tokens, std::int64_t b,
                  const std::vector<std::int64_t>& positions) {
  for (std::int64_t g = 0; g < cache.shape().num_kv_heads; ++g) {
    const std::vector<HeldRow> rows = held_rows(cache, b, g);
    ASSERT_EQ(rows.size(), positions.size());
    for (std::size_t j = 0; j < rows.size(); ++j) {
      ASSERT_EQ(rows[j].position, positions[j]) << "row " << j;
      for (std::int64_t d = 0; d < cache.shape().head_dim; ++d)
        ASSERT_EQ(rows[j].key[d], tokens.key(b, g, positions[j], d)) << "key row " << j;
      for (std::int64_t d = 0; d < cache.shape().value_dim; ++d)
        ASSERT_EQ(rows[j].value[d], tokens.value(b, g, positions[j], d)) << "value row " << j;
    }
  }
}

std::vector<std::int64_t> from_to(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> positions;
  for (std::int64_t p = from; p < to; ++p) positions.push_back(p);
  return positions;
}

std::vector<std::int64_t> ring_positions(std::int64_t keep_first, std::int64_t window, std::int64_t appended) {
  std::vector<std::int64_t> positions;
  for (std::int64_t p = 0; p < appended; ++p)
    if (p < keep_first || p >= appended - window) positions.push_back(p);
  return positions;
}

Results attend(const KvCache& cache, const Case& call, int threads = 1) {
  Results results(call.shape, call.returns, call.dtype);
  const Status status = cache.attend(pool_of(threads), call.shape, call.inputs(), call.options(), results.view());
  EXPECT_TRUE(status.ok()) << status.message().text;
  return results;
}

// ---------------------------------------------------------------------------------------------------- what is stored

TEST(KvCache, GivesRowsBackInOrderWhateverTheChunksAndLayouts) {
  const KvCacheShape shape = shape_of(Dtype::float32);
  const Tokens tokens(shape, 300, 1);
  for (const std::int64_t chunk : {1, 7, 128, 300})
    for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::bse, Layout::bes}) {
      const auto cache = make_cache(shape);
      for (std::int64_t from = 0; from < 300; from += chunk)
        ASSERT_OK(tokens.append(*cache, from, std::min<std::int64_t>(chunk, 300 - from), layout));
      expect_holds(*cache, tokens, 0, from_to(0, 300));
      expect_holds(*cache, tokens, 1, from_to(0, 300));
    }
}

TEST(KvCache, RoundsToHalvesOnceAndKeepsHalvesAsTheyAre) {
  const KvCacheShape shape = shape_of(Dtype::float16);
  const Tokens tokens(shape, 5, 2);
  for (const Dtype given : {Dtype::float32, Dtype::float16}) {
    const auto cache = make_cache(shape);
    ASSERT_OK(tokens.append(*cache, 0, 5, Layout::bes, given));
    const std::vector<HeldRow> rows = held_rows(*cache, 1, 1);
    for (std::int64_t j = 0; j < 5; ++j)
      for (std::int64_t d = 0; d < shape.head_dim; ++d)
        EXPECT_EQ(rows[j].key[d], half_to_float(float_to_half(tokens.key(1, 1, j, d))));
  }
}

TEST(KvCache, WidensHalvesExactlyIntoFloats) {
  const KvCacheShape shape = shape_of(Dtype::float32);
  const Tokens tokens(shape, 5, 3);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 5, Layout::bshd, Dtype::float16));
  const std::vector<HeldRow> rows = held_rows(*cache, 0, 1);
  for (std::int64_t j = 0; j < 5; ++j)
    for (std::int64_t d = 0; d < shape.value_dim; ++d)
      EXPECT_EQ(rows[j].value[d], half_to_float(float_to_half(tokens.value(0, 1, j, d))));
}

TEST(KvCache, QuantisesEveryRowToWithinHalfItsScale) {
  const KvCacheShape shape = shape_of(Dtype::int8);
  const Tokens tokens(shape, 200, 4);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 200));
  for (std::int64_t g = 0; g < 2; ++g) {
    const std::vector<HeldRow> rows = held_rows(*cache, 1, g);
    for (std::int64_t j = 0; j < 200; ++j) {
      float largest = 0;
      for (std::int64_t d = 0; d < shape.head_dim; ++d) largest = std::max(largest, std::abs(tokens.key(1, g, j, d)));
      for (std::int64_t d = 0; d < shape.head_dim; ++d)
        EXPECT_LE(std::abs(rows[j].key[d] - tokens.key(1, g, j, d)), largest / 254 * 1.00001f);
    }
  }
}

TEST(Quantise, KeepsTheLargestElementAndZeroRowsAndRoundsToNearest) {
  const float x[] = {-254, 127, 2, 3.1f, -0.9f, 0};
  std::int8_t q[6];
  float scale;
  quantise_row(x, 6, q, &scale);
  EXPECT_EQ(scale, 2.0f);
  EXPECT_EQ(std::vector<int>(q, q + 6), (std::vector<int>{-127, 64, 1, 2, 0, 0}));  // 63.5 goes to the even 64

  const float zeros[3] = {0, -0.0f, 0};
  quantise_row(zeros, 3, q, &scale);
  EXPECT_EQ(scale, 0.0f);
  EXPECT_EQ(q[0] | q[1] | q[2], 0);
}

TEST(Quantise, IsRightAtTheEdgesOfTheFloatRange) {
  std::int8_t q[2];
  float scale;
  for (const float largest : {std::numeric_limits<float>::max(), 1e-37f, 1e-42f, 200e-45f}) {
    const float x[2] = {largest, -largest / 3};
    quantise_row(x, 2, q, &scale);
    // A subnormal scale is itself off by up to half the smallest float, 127 times over.
    const float bound = scale / 2 * 1.00001f + (scale < 1e-37f ? 64 * 1.4e-45f : 0.0f);
    for (int i = 0; i < 2; ++i) EXPECT_LE(std::abs(static_cast<float>(q[i]) * scale - x[i]), bound) << largest;
  }
}

TEST(Quantise, MarksARowThatIsNotFinite) {
  for (const float poison : {kNan, -kNan, kInfinity, -kInfinity}) {
    const float x[3] = {1, poison, 2};
    std::int8_t q[3];
    float scale;
    quantise_row(x, 3, q, &scale);
    EXPECT_TRUE(std::isnan(scale));
  }
}

TEST(KvCache, AppendsAnotherNumberOfTokensToEveryBatch) {
  const KvCacheShape shape = shape_of(Dtype::float32, 3);
  const Tokens tokens(shape, 150, 5);
  const auto cache = make_cache(shape);
  const std::int32_t lengths[3] = {150, 0, 129};
  ASSERT_OK(tokens.append(*cache, 0, 150, Layout::bshd, Dtype::float32, lengths));
  EXPECT_EQ(cache->max_length(), 150);
  for (std::int64_t b = 0; b < 3; ++b) {
    EXPECT_EQ(cache->length(b), lengths[b]);
    expect_holds(*cache, tokens, b, from_to(0, lengths[b]));
  }
}

TEST(KvCache, StoresTheSameBitsWithEveryNumberOfThreads) {
  for (const Dtype dtype : {Dtype::float16, Dtype::int8}) {
    KvCacheShape shape = shape_of(dtype, 2, 5);
    shape.rotary = RotaryOptions();
    const Tokens tokens(shape, 200, 6);
    std::vector<std::uint8_t> bytes;
    for (int threads = 1; threads <= 4; ++threads) {
      const auto cache = make_cache(shape);
      ASSERT_OK(tokens.append(*cache, 0, 199, Layout::bshd, Dtype::float32, nullptr, threads));
      ASSERT_OK(tokens.append(*cache, 199, 1, Layout::bshd, Dtype::float32, nullptr, threads));
      if (threads == 1) bytes = saved(*cache);
      EXPECT_EQ(saved(*cache), bytes) << threads << " threads";
    }
  }
}

TEST(KvCache, HoldsNoMoreBlocksThanItsTokensNeed) {
  KvCacheShape shape = shape_of(Dtype::float32, 1, 1);
  const auto cache = make_cache(shape);
  const Tokens tokens(shape, 300, 7);
  EXPECT_EQ(cache->bytes(), 0);
  ASSERT_OK(tokens.append(*cache, 0, 1));
  const std::int64_t block = cache->bytes();
  EXPECT_GE(block, kBlockTokens * (12 + 7) * 4);
  EXPECT_LE(block, kBlockTokens * (12 + 7) * 4 + 128);
  ASSERT_OK(tokens.append(*cache, 1, 299));
  EXPECT_EQ(cache->bytes(), 3 * block);
  ASSERT_OK(cache->rewind(128));
  EXPECT_EQ(cache->bytes(), block);

  shape.capacity = 16;
  const auto small = make_cache(shape);
  ASSERT_OK(tokens.append(*small, 0, 16));
  EXPECT_LE(small->bytes(), 16 * (12 + 7) * 4 + 128);
}

std::size_t bytes_allocated = 0;

TEST(KvCache, AppendingATokenMovesThatTokenOnly) {
  const KvCacheShape shape = shape_of(Dtype::float16, 1, 1);
  const Tokens tokens(shape, 20'000, 36);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 19'999));
  const Block* const first = cache->store().block(0, 0);
  const Block* const last = cache->store().block(0, 19'999 / kBlockTokens);
  bytes_allocated = 0;
  set_allocation_gate([](std::size_t bytes) { return bytes_allocated += bytes, true; });
  const Status status = tokens.append(*cache, 19'999, 1);
  set_allocation_gate(nullptr);
  ASSERT_OK(status);
  EXPECT_LE(bytes_allocated, 1024u);
  EXPECT_EQ(cache->store().block(0, 0), first);
  EXPECT_EQ(cache->store().block(0, 19'999 / kBlockTokens), last);
}

// --------------------------------------------------------------------------------------------------------- attention

/// A generation loop: one query a step, at the position of the token just appended.
void expect_steps_equal_recomputation(const KvCacheShape& shape, std::int64_t prompt, std::int64_t steps) {
  const Tokens tokens(shape, prompt + steps, 8);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, prompt));
  for (std::int64_t step = 0; step < steps; ++step) {
    ASSERT_OK(tokens.append(*cache, prompt + step, 1));
    // The reference sees what was stored, so the error model holds as it stands for every dtype.
    Case call = held_tokens(*cache).dense_call(4, 1, 100 + static_cast<std::uint32_t>(step));
    call.returns = everything();
    call.scalars.causal = Causal::lower_right;
    const auto heads = reference::attention(call.shape, call.inputs(), call.options());
    expect_near_reference(call.shape, call.options(), call.returns, heads, attend(*cache, call));
  }
}

TEST(KvCache, GenerationEqualsFullRecomputation) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8})
    expect_steps_equal_recomputation(shape_of(dtype), 120, 20);
}

TEST(KvCache, AttendsWithRaggedLengthsAsWithKeyLengths) {
  const KvCacheShape shape = shape_of(Dtype::float32, 3);
  const Tokens tokens(shape, 150, 9);
  const auto cache = make_cache(shape);
  const std::int32_t lengths[3] = {150, 0, 129};
  ASSERT_OK(tokens.append(*cache, 0, 150, Layout::bhsd, Dtype::float32, lengths));
  Case call = tokens.dense_call(4, 3, 10);
  call.returns = everything();
  call.key_lengths = {150, 0, 129};
  call.scalars.causal = Causal::lower_right;
  const auto heads = reference::attention(call.shape, call.inputs(), call.options());
  Case cached = call;
  cached.key_lengths.clear();
  expect_near_reference(call.shape, call.options(), call.returns, heads, attend(*cache, cached));
}

/// How far int8 storage moves the outputs of random rows in [-1, 1): measured 0.00051 at D = 64, 300 keys.
TEST(KvCache, Int8StorageMovesOutputsByLittle) {
  KvCacheShape shape = shape_of(Dtype::int8);
  shape.head_dim = shape.value_dim = 64;
  const Tokens tokens(shape, 300, 11);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 300));
  const Case call = tokens.dense_call(4, 8, 12);
  const auto heads = reference::attention(call.shape, call.inputs(), call.options());
  const Results results = attend(*cache, call);
  double largest = 0;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 4; ++h)
      for (std::int64_t i = 0; i < 8; ++i)
        for (std::int64_t d = 0; d < 64; ++d) {
          const std::int64_t at = reference::element_index(Layout::bhsd, 4, 8, 64, b, h, i, d);
          largest = std::max(largest, std::abs(results.output.get(at) - heads[b * 4 + h].output(i, d)));
        }
  RecordProperty("largest_error", std::to_string(largest));
  EXPECT_LE(largest, 0.0006);
  EXPECT_GT(largest, 0.0);
}

/// Two caches of 40 tokens. In one of them head 1 has a NaN in the key of token 25 and an infinity in the value of 26.
struct TwoCaches {
  Tokens tokens;
  std::unique_ptr<KvCache> clean, poisoned;

  explicit TwoCaches(const KvCacheShape& shape)
      : tokens(shape, 40, 13), clean(make_cache(shape)), poisoned(make_cache(shape)) {
    EXPECT_TRUE(tokens.append(*clean, 0, 40).ok());
    tokens.set_key(0, 1, 25, 3, kNan);
    tokens.set_value(0, 1, 26, 0, kInfinity);
    EXPECT_TRUE(tokens.append(*poisoned, 0, 40).ok());
  }
};

TEST(KvCache, APoisonedTokenReachesOnlyTheRowsThatSeeIt) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8}) {
    const KvCacheShape shape = shape_of(dtype, 1);
    const TwoCaches caches(shape);
    Case call = caches.tokens.dense_call(2, 40, 14);
    call.scalars.causal = Causal::upper_left;
    const Results expected = attend(*caches.clean, call), actual = attend(*caches.poisoned, call);
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t i = 0; i < 40; ++i) {
        const std::int64_t at = (h * 40 + i) * shape.value_dim;
        if (h == 1 && i >= 25)
          EXPECT_TRUE(std::isnan(actual.output.get(at))) << "query " << i;
        else
          EXPECT_EQ(actual.output.get(at), expected.output.get(at)) << "head " << h << " query " << i;
      }
  }
}

TEST(KvCache, AHiddenTokenThatIsNotFiniteChangesNoBit) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8})
    for (const std::int64_t queries : {1, 3, 16, 40}) {
      SCOPED_TRACE(testing::Message() << "dtype " << static_cast<int>(dtype) << ", " << queries << " queries");
      KvCacheShape shape = shape_of(dtype, 1);
      shape.value_dim = 20;
      const TwoCaches caches(shape);
      Case call = caches.tokens.dense_call(4, queries, 14);
      call.has_mask = true;
      call.mask_extents = {{1, 1, 1, 40}};
      call.mask.assign(40, 1);
      call.mask[25] = call.mask[26] = 0;
      EXPECT_EQ(attend(*caches.poisoned, call).bits(), attend(*caches.clean, call).bits());
    }
}

// ---------------------------------------------------------------------------------------------------------- sections

KvCacheShape with_sections() {
  KvCacheShape shape;
  shape.num_kv_heads = 2;
  shape.head_dim = shape.value_dim = 8;
  shape.rotary = RotaryOptions();
  shape.rotary->temporal_section = 1, shape.rotary->height_section = 2, shape.rotary->width_section = 1;
  return shape;
}

TEST(KvCacheSections, OfEqualPlanesAreThoseOfOnePlaneBitForBit) {
  const KvCacheShape sections = with_sections();
  KvCacheShape plain = sections;
  plain.rotary = RotaryOptions();
  const Tokens tokens(sections, 5, 91);
  const std::vector<std::int32_t> one{4, 0, 9, 9, 2};
  std::vector<std::int32_t> three;
  for (int plane = 0; plane < 3; ++plane) three.insert(three.end(), one.begin(), one.end());
  std::vector<std::vector<std::uint8_t>> bits;
  for (const KvCacheShape& shape : {sections, plain}) {
    const auto cache = make_cache(shape);
    Array key, value;
    NewTokens chunk = tokens.chunk_of(0, 5, nullptr, &key, &value);
    const bool has_planes = bits.empty();
    chunk.positions = has_planes ? three.data() : one.data();
    chunk.position_planes = has_planes ? 3 : 1;
    ASSERT_OK(cache->append(pool_of(2), chunk));
    const Case call = tokens.dense_call(4, 1, 92);
    Results results(call.shape, call.returns, call.dtype);
    AttentionInputs inputs = call.inputs();
    const std::int32_t at[] = {7, 7, 7};
    inputs.query_positions = at;
    inputs.query_position_planes = has_planes ? 3 : 1;
    ASSERT_OK(cache->attend(pool_of(1), call.shape, inputs, call.options(), results.view()));
    bits.push_back(results.bits());
  }
  EXPECT_EQ(bits[0], bits[1]);
}

TEST(KvCacheSections, TurnEachPairByThePlaneOfItsSection) {
  const KvCacheShape shape = with_sections();
  const Tokens tokens(shape, 3, 93);
  const std::vector<std::int32_t> planes{1, 2, 3, 10, 20, 30, 5, 0, 7};
  const auto cache = make_cache(shape);
  Array key, value;
  NewTokens chunk = tokens.chunk_of(0, 3, nullptr, &key, &value);
  chunk.positions = planes.data();
  chunk.position_planes = 3;
  ASSERT_OK(cache->append(pool_of(1), chunk));
  const int plane_of[] = {0, 1, 1, 2};
  for (std::int64_t g = 0; g < 2; ++g) {
    const std::vector<HeldRow> rows = held_rows(*cache, 0, g);
    for (std::int64_t s = 0; s < 3; ++s)
      for (std::int64_t m = 0; m < 4; ++m) {
        const double angle = planes[static_cast<std::size_t>(plane_of[m] * 3 + s)] * std::pow(10000.0, -m / 4.0);
        const double a = tokens.key(0, g, s, m), b = tokens.key(0, g, s, m + 4);
        EXPECT_NEAR(rows[static_cast<std::size_t>(s)].key[static_cast<std::size_t>(m)],
                    a * std::cos(angle) - b * std::sin(angle), 1e-6);
        EXPECT_NEAR(rows[static_cast<std::size_t>(s)].key[static_cast<std::size_t>(m + 4)],
                    a * std::sin(angle) + b * std::cos(angle), 1e-6);
      }
  }
  const std::vector<std::uint8_t> bytes = saved(*cache);
  std::unique_ptr<KvCache> loaded;
  ASSERT_OK(KvCache::load(bytes.data(), static_cast<std::int64_t>(bytes.size()), &loaded));
  EXPECT_EQ(saved(*loaded), bytes);
  EXPECT_EQ(loaded->shape().rotary->height_section, 2);
  chunk.position_planes = 2;
  EXPECT_EQ(cache->append(pool_of(1), chunk).code, StatusCode::invalid_shape);
}

// ------------------------------------------------------------------------------------------------------------- rings

TEST(KvCacheRing, HoldsTheFirstAndTheLastTokensInOrderOfPosition) {
  for (const auto& [keep_first, window] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1}, {4, 10}, {0, 128}, {3, 200}, {130, 126}, {1, 255}})
    for (const std::int64_t chunk : {1, 13, 300}) {
      const KvCacheShape shape = ring_of(keep_first, window);
      const Tokens tokens(shape, 600, 15);
      const auto cache = make_cache(shape);
      for (std::int64_t total = 0; total < 600;) {
        const std::int64_t gain = std::min(chunk, 600 - total);
        ASSERT_OK(tokens.append(*cache, total, gain));
        total += gain;
        ASSERT_EQ(cache->appended(0), total);
        if (total % 39 == 0 || total == 600 || total == keep_first + window + 1)
          expect_holds(*cache, tokens, 1, ring_positions(keep_first, window, total));
      }
    }
}

TEST(KvCacheRing, EqualsAFullCacheWithTheSameVisibility) {
  const KvCacheShape ring = ring_of(3, 50);
  const Tokens tokens(ring, 200, 16);
  const auto cache = make_cache(ring);
  for (std::int64_t from = 0; from < 200; from += 8) ASSERT_OK(tokens.append(*cache, from, 8));

  Case call = tokens.dense_call(4, 5, 17);
  call.alibi_slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  call.scalars.causal = Causal::lower_right;
  call.scalars.window_left = 30;
  call.scalars.exclude_self = true;
  call.scalars.softcap = 4.0f;
  call.returns.entropy = true;
  for (const std::int32_t offset : {195, 180, -3}) {  // -3: only kept tokens lie before the queries
    call.query_offset = {offset, offset + 1};
    Case full = call;
    full.has_mask = true;
    full.mask_extents = {{1, 1, 1, 200}};
    full.mask.assign(200, 0);
    for (const std::int64_t p : ring_positions(3, 50, 200)) full.mask[p] = 1;
    const auto heads = reference::attention(full.shape, full.inputs(), full.options());
    expect_near_reference(call.shape, call.options(), call.returns, heads, attend(*cache, call));
  }
}

/// Which tokens a ring shows the query at position p, if p is the last token.
void show_ring(const KvCacheShape& ring, std::int64_t p, std::int64_t length, std::uint8_t* row) {
  for (std::int64_t j = 0; j < length; ++j) row[j] = j <= p && (j < ring.keep_first || j > p - ring.window);
}

/// Steps of these numbers of tokens against a call that has all tokens, and a mask of what a ring shows.
void expect_ring_steps(const KvCacheShape& ring, const std::vector<std::int64_t>& pieces) {
  std::int64_t length = 0;
  for (const std::int64_t piece : pieces) length += piece;
  const Tokens tokens(ring, length, 41);
  const auto cache = make_cache(ring);
  std::int64_t done = 0;
  for (const std::int64_t piece : pieces) {
    Case full = tokens.dense_call(4, piece, 42 + static_cast<std::uint32_t>(done));
    full.scalars.causal = Causal::upper_left;
    const auto first = static_cast<std::int32_t>(done);
    full.query_offset = {first, first};
    full.has_mask = true;
    full.mask_extents = {{1, 1, piece, length}};
    full.mask.assign(static_cast<std::size_t>(piece * length), 0);
    for (std::int64_t i = 0; i < piece; ++i) show_ring(ring, done + i, length, full.mask.data() + i * length);
    const auto heads = reference::attention(full.shape, full.inputs(), full.options());

    Case call = full;
    call.has_mask = false;
    call.query_offset.clear();
    call.scalars.causal = Causal::lower_right;
    Results results(call.shape, call.returns, call.dtype);
    Array key, value;
    const NewTokens chunk = tokens.chunk_of(done, piece, nullptr, &key, &value);
    ASSERT_OK(cache->step(pool_of(2), chunk, call.shape, call.inputs(), call.options(), results.view()));
    expect_near_reference(full.shape, full.options(), full.returns, heads, results);
    done += piece;
    expect_holds(*cache, tokens, 1, ring_positions(ring.keep_first, ring.window, done));
  }
}

TEST(KvCacheRing, AStepAttendsBeforeItDropsWhateverItsLength) {
  for (const std::int64_t keep_first : {0, 3})
    for (const std::int64_t window : {1, 4, 50, 200}) {
      SCOPED_TRACE("ring of " + std::to_string(keep_first) + " + " + std::to_string(window));
      expect_ring_steps(ring_of(keep_first, window), {10});
      expect_ring_steps(ring_of(keep_first, window), {4, 4, 2});
      expect_ring_steps(ring_of(keep_first, window), {1, 260, 1, 1, 130, 2});
    }
}

TEST(KvCacheRing, AStepOfRaggedLengthsShowsEachBatchItsOwnTokens) {
  const KvCacheShape ring = ring_of(2, 5);
  const Tokens tokens(ring, 40, 43);
  const auto cache = make_cache(ring), alone = make_cache(ring);
  ASSERT_OK(tokens.append(*cache, 0, 20));
  ASSERT_OK(tokens.append(*alone, 0, 20));
  Case call = tokens.dense_call(4, 9, 44);
  call.scalars.causal = Causal::lower_right;
  call.query_lengths = {9, 2};
  const std::int32_t lengths[2] = {9, 2};
  Array key, value;
  Results results(call.shape, call.returns, call.dtype), each(call.shape, call.returns, call.dtype);
  ASSERT_OK(cache->step(pool_of(1), tokens.chunk_of(20, 9, lengths, &key, &value), call.shape, call.inputs(),
                        call.options(), results.view()));
  expect_holds(*cache, tokens, 0, ring_positions(2, 5, 29));
  expect_holds(*cache, tokens, 1, ring_positions(2, 5, 22));
  call.query_lengths = {2, 2};
  ASSERT_OK(alone->step(pool_of(1), tokens.chunk_of(20, 2, nullptr, &key, &value), call.shape, call.inputs(),
                        call.options(), each.view()));
  // The second batch has the same rows in both calls.
  const std::int64_t width = call.shape.value_dim;
  for (std::int64_t h = 0; h < 4; ++h)
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t d = 0; d < width; ++d) {
        const std::int64_t at = ((4 + h) * 9 + i) * width + d;
        EXPECT_NEAR(results.output.get(at), each.output.get(at), 1e-6);
      }
}

TEST(KvCacheRing, RefusesQueriesWhoseKeysAreGone) {
  const KvCacheShape ring = ring_of(3, 50);
  const Tokens tokens(ring, 200, 45);
  const auto cache = make_cache(ring);
  ASSERT_OK(tokens.append(*cache, 0, 200));
  Case call = tokens.dense_call(4, 5, 46);
  const auto refused = [&](const std::string& words) {
    Results results(call.shape, call.returns, call.dtype);
    expect_refused(cache->attend(pool_of(1), call.shape, call.inputs(), call.options(), results.view()),
                   StatusCode::invalid_option, words);
  };
  call.scalars.causal = Causal::lower_right;
  refused(
      "the query at position 195 of batch 0 sees keys from position 146 on, and the ring has dropped those before 150");
  call.query_offset = {199, 12};
  refused("the query at position 12 of batch 1 sees keys from position 3 on");
  call.scalars.causal = Causal::none;
  (void)attend(*cache, call);  // sees what the ring holds
  call.scalars.window_left = 45;
  refused("position 12");
  call.query_offset = {195, 195};
  (void)attend(*cache, call);
}

TEST(KvCacheRing, AStepRefusesQueriesWhoseKeysAreGone) {
  const KvCacheShape ring = ring_of(1, 6);
  const Tokens tokens(ring, 30, 49);
  const auto cache = make_cache(ring);
  ASSERT_OK(tokens.append(*cache, 0, 12));
  Case call = tokens.dense_call(4, 5, 50);
  call.scalars.causal = Causal::lower_right;
  Array key, value;
  Results results(call.shape, call.returns, call.dtype);
  const NewTokens two = tokens.chunk_of(12, 2, nullptr, &key, &value);
  expect_refused(cache->step(pool_of(1), two, call.shape, call.inputs(), call.options(), results.view()),
                 StatusCode::invalid_option,
                 "the query at position 9 of batch 0 sees keys from position 4 on, and the ring has dropped those "
                 "before 6");
  EXPECT_EQ(cache->appended(0), 12);
}

TEST(KvCacheRing, AStepThatFailsLeavesARingAsItWas) {
  const KvCacheShape ring = ring_of(1, 6);
  const Tokens tokens(ring, 30, 47);
  const auto cache = make_cache(ring);
  ASSERT_OK(tokens.append(*cache, 0, 12));
  const auto before = saved(*cache);
  Case call = tokens.dense_call(4, 5, 48);
  call.scalars.causal = Causal::lower_right;
  call.scalars.empty_rows = EmptyRows::fail;
  call.has_mask = true;
  call.mask_extents = {{1, 1, 1, 1}};
  call.mask.assign(1, 0);
  Results results(call.shape, call.returns, call.dtype);
  Array key, value;
  const Status status = cache->step(pool_of(1), tokens.chunk_of(12, 5, nullptr, &key, &value), call.shape,
                                    call.inputs(), call.options(), results.view());
  EXPECT_EQ(status.code, StatusCode::empty_row) << status.message().text;
  EXPECT_EQ(saved(*cache), before);
}

TEST(KvCacheRing, RewindsOnlyWhereNothingDroppedComesBack) {
  const KvCacheShape shape = ring_of(4, 10);
  const Tokens tokens(shape, 40, 18);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 12));
  ASSERT_OK(cache->rewind(9));  // nothing was dropped
  expect_holds(*cache, tokens, 0, from_to(0, 9));
  ASSERT_OK(tokens.append(*cache, 9, 20));
  const auto before = saved(*cache);
  for (const std::int64_t length : {28, 15, 5})
    expect_refused(cache->rewind(length), StatusCode::invalid_option, "dropped");
  EXPECT_EQ(saved(*cache), before);
  ASSERT_OK(cache->rewind(29));
  EXPECT_EQ(saved(*cache), before);
  ASSERT_OK(cache->rewind(3));  // the kept tokens alone
  expect_holds(*cache, tokens, 1, from_to(0, 3));
  ASSERT_OK(tokens.append(*cache, 3, 30));
  expect_holds(*cache, tokens, 0, ring_positions(4, 10, 33));
}

// ----------------------------------------------------------------------------------------- rewinding, forking, slicing

TEST(KvCache, RewindingAndGoingOnEqualsNeverHavingGoneAstray) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8}) {
    const KvCacheShape shape = shape_of(dtype);
    const Tokens tokens(shape, 200, 19), astray(shape, 200, 20);
    const auto straight = make_cache(shape), rewound = make_cache(shape);
    ASSERT_OK(tokens.append(*straight, 0, 200));
    ASSERT_OK(tokens.append(*rewound, 0, 100));
    ASSERT_OK(astray.append(*rewound, 0, 70));
    ASSERT_OK(rewound->rewind(100));
    ASSERT_OK(tokens.append(*rewound, 100, 100));
    EXPECT_EQ(saved(*rewound), saved(*straight));
  }
}

TEST(KvCache, RewindsEveryBatchToItsOwnLength) {
  const KvCacheShape shape = shape_of(Dtype::float32);
  const Tokens tokens(shape, 200, 21);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 200));
  const std::int32_t lengths[2] = {500, 130};
  ASSERT_OK(cache->rewind_each(lengths));
  expect_holds(*cache, tokens, 0, from_to(0, 200));
  expect_holds(*cache, tokens, 1, from_to(0, 130));
}

TEST(KvCache, ForksShareBlocksUntilOneOfThemWrites) {
  for (const KvCacheShape& shape : {shape_of(Dtype::float32), ring_of(2, 60), shape_of(Dtype::int8)}) {
    const Tokens tokens(shape, 400, 22), other(shape, 400, 23);
    const auto original = make_cache(shape);
    ASSERT_OK(tokens.append(*original, 0, 150));
    const auto before = saved(*original);

    std::unique_ptr<KvCache> fork;
    ASSERT_OK(original->fork(&fork));
    EXPECT_EQ(saved(*fork), before);
    EXPECT_EQ(fork->store().block(0, 0), original->store().block(0, 0));

    ASSERT_OK(other.append(*fork, 0, 30));
    EXPECT_EQ(saved(*original), before);
    const auto forked = saved(*fork);
    ASSERT_OK(tokens.append(*original, 150, 250));
    EXPECT_EQ(saved(*fork), forked);

    const auto alone = make_cache(shape);  // what the fork holds does not depend on having been one
    ASSERT_OK(tokens.append(*alone, 0, 150));
    ASSERT_OK(other.append(*alone, 0, 30));
    EXPECT_EQ(saved(*fork), saved(*alone));
  }
}

TEST(KvCache, AForkOutlivesItsOriginalAndCopiesOnlyTheBlockItWritesTo) {
  const KvCacheShape shape = shape_of(Dtype::float32);
  const Tokens tokens(shape, 300, 24);
  auto original = make_cache(shape);
  ASSERT_OK(tokens.append(*original, 0, 200));
  std::unique_ptr<KvCache> fork;
  ASSERT_OK(original->fork(&fork));
  ASSERT_OK(tokens.append(*fork, 200, 1));
  EXPECT_EQ(fork->store().block(1, 0), original->store().block(1, 0));
  EXPECT_NE(fork->store().block(1, 1), original->store().block(1, 1));
  original.reset();
  expect_holds(*fork, tokens, 1, from_to(0, 201));
}

TEST(KvCache, SlicesRowsAndNumbersThemFromZero) {
  const KvCacheShape shape = shape_of(Dtype::int8);
  const Tokens tokens(shape, 300, 25);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 300));
  for (const auto& [from, to] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 300}, {0, 0}, {5, 6}, {100, 300}, {128, 256}, {300, 300}}) {
    std::unique_ptr<KvCache> part;
    ASSERT_OK(cache->slice(from, to, &part));
    const auto direct = make_cache(shape);
    ASSERT_OK(tokens.append(*direct, from, to - from));
    EXPECT_TRUE(saved(*part) == saved(*direct)) << from << " to " << to;
  }
}

TEST(KvCache, SlicesShorterBatchesToWhatTheyHave) {
  const KvCacheShape shape = shape_of(Dtype::float32);
  const Tokens tokens(shape, 100, 26);
  const auto cache = make_cache(shape);
  const std::int32_t lengths[2] = {100, 40};
  ASSERT_OK(tokens.append(*cache, 0, 100, Layout::bhsd, Dtype::float32, lengths));
  std::unique_ptr<KvCache> part;
  ASSERT_OK(cache->slice(30, 90, &part));
  EXPECT_EQ(part->length(0), 60);
  EXPECT_EQ(part->length(1), 10);
  for (const std::int64_t b : {std::int64_t{-1}, std::int64_t{2}}) {  // it has no such batch
    EXPECT_EQ(part->length(b), 0);
    EXPECT_EQ(part->appended(b), 0);
  }
  EXPECT_EQ(held_rows(*part, 1, 0)[9].key[2], tokens.key(1, 0, 39, 2));
}

TEST(KvCacheRing, SlicesAcrossTheSeam) {
  const KvCacheShape shape = ring_of(2, 20);
  const Tokens tokens(shape, 50, 27);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 50));
  std::unique_ptr<KvCache> part;
  ASSERT_OK(cache->slice(1, 22, &part));
  const std::vector<HeldRow> rows = held_rows(*part, 0, 1);
  ASSERT_EQ(rows.size(), 21u);
  EXPECT_EQ(rows[0].key[0], tokens.key(0, 1, 1, 0));
  for (std::int64_t j = 1; j < 21; ++j) {
    EXPECT_EQ(rows[j].position, j);
    EXPECT_EQ(rows[j].key[0], tokens.key(0, 1, 29 + j, 0));
  }
}

// ------------------------------------------------------------------------------------------------------------ rotary

/// x [1, heads, count, 12] turned at positions from `first` on.
Array turned(const Array& x, const RotaryOptions& options, std::int64_t heads, std::int64_t count, double first) {
  const std::int64_t half = (options.rotary_dim ? options.rotary_dim : 12) / 2;
  std::vector<double> positions;
  for (std::int64_t s = 0; s < count; ++s) positions.push_back(first + static_cast<double>(s));
  std::vector<float> cosines(count * half), sines(count * half);
  EXPECT_TRUE(rotary_tables(options, 12, positions.data(), count, cosines.data(), sines.data()).ok());
  Array y(Dtype::float32, x.size());
  EXPECT_TRUE(rotary_embedding(pool_of(1), Layout::bhsd, 1, heads, count, 12, 2 * half, options.interleaved, x.view(),
                               cosines.data(), sines.data(), count, nullptr, y.mutable_view())
                  .ok());
  return y;
}

KvCacheShape rotary_shape() {
  KvCacheShape shape = shape_of(Dtype::float32, 1);
  shape.rotary = RotaryOptions();
  shape.rotary->rotary_dim = 8;
  shape.rotary->interleaved = true;
  return shape;
}

TEST(KvCacheRotary, TurnsKeysAndQueriesAtTheirAbsolutePositions) {
  const KvCacheShape shape = rotary_shape();
  KvCacheShape plain = shape;
  plain.rotary.reset();
  const Tokens tokens(shape, 150, 28);
  const auto cache = make_cache(shape), by_hand = make_cache(plain);
  for (std::int64_t from = 0; from < 150; from += 50) ASSERT_OK(tokens.append(*cache, from, 50));
  Case call = tokens.dense_call(4, 6, 29);
  call.scalars.causal = Causal::lower_right;
  const Array keys = turned(call.key, *shape.rotary, 2, 150, 0);
  ASSERT_OK(by_hand->append(pool_of(1), {Layout::bhsd, 150, keys.view(), call.value.view(), nullptr}));
  Case turned_call = call;
  turned_call.query = turned(call.query, *shape.rotary, 4, 6, 144);
  EXPECT_EQ(attend(*cache, call).bits(), attend(*by_hand, turned_call).bits());

  call.query_offset = {20};
  turned_call.query_offset = {20};
  turned_call.query = turned(call.query, *shape.rotary, 4, 6, 20);
  EXPECT_EQ(attend(*cache, call).bits(), attend(*by_hand, turned_call).bits());
}

TEST(KvCacheRotary, ACallOfAttentionTurnsTheQueriesToo) {
  const KvCacheShape shape = rotary_shape();
  const Tokens tokens(shape, 30, 28);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 30));
  const Case call = tokens.dense_call(4, 6, 29);
  AttentionInputs inputs = call.inputs();
  inputs.key = inputs.value = {};
  inputs.cache = cache.get();
  EXPECT_EQ(compute(call, inputs).bits(), attend(*cache, call).bits());
}

TEST(KvCacheRotary, ASliceKeepsTheAnglesBetweenItsKeysAndWhatFollows) {
  const KvCacheShape shape = rotary_shape();
  const Tokens tokens(shape, 60, 30);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 40));
  std::unique_ptr<KvCache> part, part_of_part;
  ASSERT_OK(cache->slice(10, 40, &part));
  ASSERT_OK(part->slice(5, 30, &part_of_part));
  for (KvCache* const each : {cache.get(), part_of_part.get()}) ASSERT_OK(tokens.append(*each, 40, 20));
  Case call = tokens.dense_call(4, 1, 31);
  call.shape.key_length = 0;
  call.scalars.window_left = 44;  // exactly the 45 keys that the slice holds
  call.scalars.causal = Causal::lower_right;
  const Results full = attend(*cache, call), sliced = attend(*part_of_part, call);
  for (std::int64_t k = 0; k < full.output.size(); ++k)
    EXPECT_NEAR(full.output.get(k), sliced.output.get(k), 2e-6);  // other tiles, other order of sums
}

// --------------------------------------------------------------------------------------------------------- bad inputs

TEST(KvCache, RefusesImpossibleShapes) {
  const auto refuse = [](StatusCode code, const char* words, auto change) {
    KvCacheShape shape = shape_of(Dtype::float32);
    change(shape);
    std::unique_ptr<KvCache> cache;
    expect_refused(KvCache::create(shape, &cache), code, words);
    EXPECT_EQ(cache, nullptr);
  };
  refuse(StatusCode::invalid_shape, "batchSize", [](KvCacheShape& s) { s.batch_size = -1; });
  refuse(StatusCode::invalid_shape, "numKvHeads", [](KvCacheShape& s) { s.num_kv_heads = 0; });
  refuse(StatusCode::invalid_shape, "headDim", [](KvCacheShape& s) { s.head_dim = 0; });
  refuse(StatusCode::invalid_shape, "valueDim", [](KvCacheShape& s) { s.value_dim = std::int64_t{1} << 40; });
  refuse(StatusCode::invalid_shape, "capacity", [](KvCacheShape& s) { s.capacity = -2; });
  refuse(StatusCode::invalid_shape, "block", [](KvCacheShape& s) { s.head_dim = s.num_kv_heads = 0x7fffffff; });
  refuse(StatusCode::invalid_option, "dtype", [](KvCacheShape& s) { s.dtype = static_cast<Dtype>(7); });
  refuse(StatusCode::invalid_option, "dtype", [](KvCacheShape& s) { s.dtype = Dtype::bfloat16; });
  refuse(StatusCode::invalid_option, "keepFirst", [](KvCacheShape& s) { s.keep_first = 3; });
  refuse(StatusCode::invalid_option, "capacity",
         [](KvCacheShape& s) { s.keep_first = 3, s.window = 5, s.capacity = 7; });
  refuse(StatusCode::invalid_option, "rotaryDim", [](KvCacheShape& s) { s.rotary = RotaryOptions{.rotary_dim = 5}; });
}

TEST(KvCache, RefusesAppendsItCannotTakeAndStaysAsItWas) {
  KvCacheShape shape = shape_of(Dtype::float32);
  shape.capacity = 100;
  const Tokens tokens(shape, 200, 32);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 60));
  const auto before = saved(*cache);
  expect_refused(tokens.append(*cache, 60, 41), StatusCode::invalid_shape, "at most 100 tokens");
  const std::int32_t too_many[2] = {3, 11}, negative[2] = {3, -1}, over_capacity[2] = {3, 41};
  expect_refused(tokens.append(*cache, 60, 10, Layout::bhsd, Dtype::float32, too_many), StatusCode::invalid_shape,
                 "lengths[1]");
  expect_refused(tokens.append(*cache, 60, 10, Layout::bhsd, Dtype::float32, negative), StatusCode::invalid_shape,
                 "lengths[1]");
  expect_refused(tokens.append(*cache, 60, 50, Layout::bhsd, Dtype::float32, over_capacity), StatusCode::invalid_shape,
                 "batch 1");
  const ConstArray value;
  for (const Dtype dtype : {Dtype::int8, Dtype::bfloat16})
    expect_refused(cache->append(pool_of(1), {Layout::bhsd, 1, {nullptr, dtype}, value, nullptr}),
                   StatusCode::unsupported, "key");
  expect_refused(cache->append(pool_of(1), {Layout::bhsd, -1, value, value, nullptr}), StatusCode::invalid_shape,
                 "length");
  EXPECT_EQ(saved(*cache), before);
  ASSERT_OK(tokens.append(*cache, 60, 40));
}

TEST(KvCache, RefusesSlicesAndRewindsOutOfRange) {
  const KvCacheShape shape = shape_of(Dtype::float32);
  const Tokens tokens(shape, 10, 33);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 10));
  std::unique_ptr<KvCache> part;
  expect_refused(cache->slice(-1, 3, &part), StatusCode::invalid_option, "slice");
  expect_refused(cache->slice(4, 3, &part), StatusCode::invalid_option, "slice");
  expect_refused(cache->slice(4, 11, &part), StatusCode::invalid_option, "slice");
  expect_refused(cache->rewind(-1), StatusCode::invalid_option, "length");
}

TEST(KvCache, TakesNoNoticeOfTheKeyLengthThatACallStates) {
  const KvCacheShape shape = shape_of(Dtype::int8);
  const Tokens tokens(shape, 9, 1);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 9));
  Case call = tokens.dense_call(4, 3, 2);
  call.returns = everything();
  const std::vector<std::uint8_t> expected = attend(*cache, call).bits();
  for (const std::int64_t stated : {std::int64_t{-1}, std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    Results results(call.shape, call.returns, call.dtype);
    AttentionShape other = call.shape;
    other.key_length = stated;
    ASSERT_OK(cache->attend(pool_of(1), other, call.inputs(), call.options(), results.view()));
    EXPECT_EQ(results.bits(), expected);
  }
}

TEST(KvCache, RefusesRoomForAnotherNumberOfKeysBeforeItWrites) {
  for (const bool turns : {false, true}) {
    KvCacheShape shape = shape_of(Dtype::float32);
    if (turns) shape.rotary = RotaryOptions();
    const Tokens tokens(shape, 9, 1);
    const auto cache = make_cache(shape);
    ASSERT_OK(tokens.append(*cache, 0, 9));
    Case call = tokens.dense_call(4, 3, 2);
    call.returns = everything();
    for (const std::int64_t room : {0, 8, 10}) {
      Results results(call.shape, call.returns, call.dtype);
      const std::vector<std::uint8_t> untouched = results.bits();
      AttentionOutputs outputs = results.view();
      outputs.key_room = room;
      expect_refused(cache->attend(pool_of(1), call.shape, call.inputs(), call.options(), outputs),
                     StatusCode::invalid_shape, "room for " + std::to_string(room) + " keys, the call has 9");
      EXPECT_EQ(results.bits(), untouched);
    }
    Results results(call.shape, call.returns, call.dtype);
    AttentionOutputs outputs = results.view();
    outputs.key_room = 9;
    ASSERT_OK(cache->attend(pool_of(1), call.shape, call.inputs(), call.options(), outputs));
    EXPECT_EQ(results.bits(), attend(*cache, call).bits());
  }
}

TEST(KvCache, WorksWithoutBatchesAndWithoutTokens) {
  const auto none = make_cache(shape_of(Dtype::float32, 0));
  EXPECT_EQ(none->max_length(), 0);
  ASSERT_OK(none->append(pool_of(1), {Layout::bhsd, 3, {}, {}, nullptr}));
  const auto cache = make_cache(shape_of(Dtype::float32));
  ASSERT_OK(cache->append(pool_of(1), {Layout::bhsd, 0, {}, {}, nullptr}));
  EXPECT_EQ(cache->max_length(), 0);
  EXPECT_EQ(cache->bytes(), 0);
}

// ------------------------------------------------------------------------------------------------------ out of memory

TEST(KvCache, AnAppendThatFindsNoMemoryChangesNothing) {
  for (const Dtype dtype : {Dtype::float32, Dtype::int8}) {
    KvCacheShape shape = shape_of(dtype);
    shape.rotary = RotaryOptions();
    const Tokens tokens(shape, 500, 34);
    const auto original = make_cache(shape), expected = make_cache(shape);
    ASSERT_OK(tokens.append(*original, 0, 100));
    std::unique_ptr<KvCache> cache;  // a fork, so that blocks must be copied too
    ASSERT_OK(original->fork(&cache));
    const auto before = saved(*cache);
    const std::int64_t bytes = cache->bytes();
    const auto look = [&] {
      EXPECT_EQ(saved(*cache), before);
      EXPECT_EQ(cache->bytes(), bytes);
    };
    EXPECT_GE(refuse_each_request([&] { return tokens.append(*cache, 100, 400); }, look, Refused::for_good), 8);
    ASSERT_OK(tokens.append(*expected, 0, 500));
    EXPECT_EQ(saved(*cache), saved(*expected));
    EXPECT_EQ(saved(*original), before);
  }
}

TEST(KvCache, ForksSlicesAndLoadsThatFindNoMemoryLeaveNothing) {
  const KvCacheShape shape = shape_of(Dtype::float16);
  const Tokens tokens(shape, 300, 35);
  const auto cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 300));
  const auto bytes = saved(*cache);
  std::unique_ptr<KvCache> result;
  const auto nothing = [&] { EXPECT_EQ(result, nullptr); };
  refuse_each_request([&] { return cache->fork(&result); }, nothing, Refused::for_good);
  EXPECT_EQ(saved(*result), bytes);
  result.reset();
  refuse_each_request([&] { return cache->slice(0, 300, &result); }, nothing, Refused::for_good);
  EXPECT_EQ(saved(*result), bytes);
  result.reset();
  const auto load = [&] { return KvCache::load(bytes.data(), static_cast<std::int64_t>(bytes.size()), &result); };
  refuse_each_request(load, nothing, Refused::for_good);
  EXPECT_EQ(saved(*result), bytes);
}

}  // namespace headwise::test_kv_cache
