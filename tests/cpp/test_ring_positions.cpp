// Rings whose rotary positions are places in the cache (StreamingLLM), against attention to keys that are turned by
// their places. Every query is compared by itself: its token is then the last one of the ring.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "expectations.h"
#include "harness.h"
#include "headwise/kv_cache.h"
#include "headwise/position.h"
#include "kv_tokens.h"
#include "reference/reference.h"

namespace headwise::test_ring_positions {

using cases::Array;
using cases::Case;
using cases::Results;

constexpr std::int64_t kWidth = 12, kHeads = 4;

KvCacheShape ring_of(std::int64_t keep_first, std::int64_t window, Dtype dtype = Dtype::float32) {
  KvCacheShape shape;
  shape.num_kv_heads = 2;
  shape.head_dim = kWidth;
  shape.value_dim = 7;
  shape.dtype = dtype;
  shape.keep_first = keep_first;
  shape.window = window;
  shape.rotary = RotaryOptions();
  shape.cache_positions = true;
  return shape;
}

/// x [heads, positions, kWidth], each row turned by its position.
Array turned(const Array& x, const RotaryOptions& options, std::int64_t heads, const std::vector<double>& positions) {
  Array y(Dtype::float32, x.size());
  const Status status =
      rotary_embedding_at(pool_of(1), Layout::bhsd, 1, heads, static_cast<std::int64_t>(positions.size()), kWidth,
                          options, x.view(), positions.data(), y.mutable_view());
  EXPECT_TRUE(status.ok()) << status.message().text;
  return y;
}

/// The tokens that a ring shows the query of token p, the last one.
std::vector<std::int64_t> seen_by(const KvCacheShape& ring, std::int64_t p) {
  std::vector<std::int64_t> seen;
  for (std::int64_t j = 0; j <= p; ++j)
    if (j < ring.keep_first || j > p - ring.window) seen.push_back(j);
  return seen;
}

/// The call of query row `row` of `call`, whose token is p, to the keys that it sees, all turned by their places.
Case alone(const KvCacheShape& ring, const Tokens& tokens, const Case& call, std::int64_t row, std::int64_t p) {
  const std::vector<std::int64_t> seen = seen_by(ring, p);
  const auto count = static_cast<std::int64_t>(seen.size());
  Case one = call;
  one.shape.query_length = 1, one.shape.key_length = count;
  one.scalars.causal = Causal::none;
  one.query = Array(Dtype::float32, kHeads * kWidth);
  for (std::int64_t h = 0; h < kHeads; ++h)
    for (std::int64_t d = 0; d < kWidth; ++d)
      one.query.set(h * kWidth + d, call.query.get((h * call.shape.query_length + row) * kWidth + d));
  one.key = Array(Dtype::float32, 2 * count * kWidth), one.value = Array(Dtype::float32, 2 * count * 7);
  std::vector<double> places;
  for (std::int64_t j = 0; j < count; ++j) places.push_back(static_cast<double>(j));
  for (std::int64_t g = 0; g < 2; ++g)
    for (std::int64_t j = 0; j < count; ++j) {
      for (std::int64_t d = 0; d < kWidth; ++d)
        one.key.set((g * count + j) * kWidth + d, tokens.key(0, g, seen[static_cast<std::size_t>(j)], d));
      for (std::int64_t d = 0; d < 7; ++d)
        one.value.set((g * count + j) * 7 + d, tokens.value(0, g, seen[static_cast<std::size_t>(j)], d));
    }
  one.key = turned(one.key, *ring.rotary, 2, places);
  one.query = turned(one.query, *ring.rotary, kHeads, {static_cast<double>(count - 1)});
  return one;
}

Results step(KvCache& cache, const Tokens& tokens, Case call, std::int64_t from, int threads = 2) {
  call.scalars.causal = Causal::lower_right;
  call.shape.key_length = cache.max_length();
  const KvCacheShape& ring = cache.shape();
  const std::int64_t total = from + call.shape.query_length, most = ring.keep_first + ring.window;
  const bool widened = call.shape.query_length > 1 && total > most;
  call.shape.key_length = std::min(total, widened ? most + call.shape.query_length : most);
  Array key, value;
  Results results(call.shape, call.returns, call.dtype);
  const Status status =
      cache.step(pool_of(threads), tokens.chunk_of(from, call.shape.query_length, nullptr, &key, &value), call.shape,
                 call.inputs(), call.options(), results.view());
  EXPECT_TRUE(status.ok()) << status.message().text;
  return results;
}

/// Compares output and lse of query i of a longer step with that query alone.
void expect_row_near_reference(const Case& one, const Results& results, std::int64_t i) {
  const auto piece = static_cast<std::int64_t>(results.lse.size()) / kHeads;
  Results row(one.shape, one.returns, one.dtype);
  for (std::int64_t h = 0; h < kHeads; ++h) {
    row.lse[h] = results.lse[h * piece + i];
    for (std::int64_t d = 0; d < 7; ++d) row.output.set(h * 7 + d, results.output.get((h * piece + i) * 7 + d));
  }
  const auto heads = reference::attention(one.shape, one.inputs(), one.options());
  expect_near_reference(one.shape, one.options(), one.returns, heads, row);
}

TEST(RingPositions, AStepOfOneTokenIsAttentionByPlaces) {
  for (const std::int64_t keep_first : {0, 1, 5, 150})
    for (const std::int64_t window : {1, 6, 200}) {
      SCOPED_TRACE("ring of " + std::to_string(keep_first) + " + " + std::to_string(window));
      KvCacheShape ring = ring_of(keep_first, window);
      ring.rotary->interleaved = window == 6;
      const std::int64_t length = keep_first + window + 20;
      const Tokens tokens(ring, length, 61);
      const auto cache = make_cache(ring);
      const std::int64_t before = std::max<std::int64_t>(keep_first + window - 3, 0);
      ASSERT_OK(tokens.append(*cache, 0, before));
      for (std::int64_t p = before; p < length; ++p) {
        Case call = tokens.dense_call(kHeads, 1, 62 + static_cast<std::uint32_t>(p));
        call.returns = everything(ScoreStage::raw);
        const Case one = alone(ring, tokens, call, 0, p);
        const auto heads = reference::attention(one.shape, one.inputs(), one.options());
        expect_near_reference(one.shape, one.options(), one.returns, heads, step(*cache, tokens, call, p));
      }
    }
}

TEST(RingPositions, EveryQueryOfALongStepStandsWhereItWouldAlone) {
  for (const std::int64_t keep_first : {0, 3})
    for (const std::int64_t window : {1, 4, 50}) {
      SCOPED_TRACE("ring of " + std::to_string(keep_first) + " + " + std::to_string(window));
      const KvCacheShape ring = ring_of(keep_first, window);
      const std::vector<std::int64_t> pieces{7, 2, 130, 1, 40};
      const Tokens tokens(ring, 180, 63);
      const auto cache = make_cache(ring);
      std::int64_t done = 0;
      for (const std::int64_t piece : pieces) {
        Case call = tokens.dense_call(kHeads, piece, 64 + static_cast<std::uint32_t>(done));
        call.returns.lse = true;
        const Results results = step(*cache, tokens, call, done);
        for (std::int64_t i = 0; i < piece; ++i) {
          const Case one = alone(ring, tokens, call, i, done + i);
          expect_row_near_reference(one, results, i);
        }
        done += piece;
      }
    }
}

/// The rows that a cache of another type holds are rounded, and int8 adds the mean: they are read back, and turned from
/// the positions at which they are stored to their places.
TEST(RingPositions, OtherTypesMeetTheKeysThatTheyHold) {
  for (const Dtype dtype : {Dtype::float16, Dtype::int8}) {
    const KvCacheShape ring = ring_of(3, 20, dtype);
    Tokens tokens(ring, 40, 65);
    for (std::int64_t s = 0; s < 40; ++s)
      for (std::int64_t g = 0; g < 2; ++g) tokens.set_key(0, g, s, 11, 30.0f);  // a slow pair: there is a mean
    const auto cache = make_cache(ring);
    ASSERT_OK(tokens.append(*cache, 0, 39));
    Case call = tokens.dense_call(kHeads, 1, 66);
    call.returns = everything(ScoreStage::raw);
    const Results results = step(*cache, tokens, call, 39);
    const Tokens held = held_tokens(*cache);
    Case one = held.dense_call(kHeads, 1, 66);
    one.returns = call.returns;
    std::vector<double> back;
    for (std::int64_t j = 0; j < 23; ++j) back.push_back(j < 3 ? 0.0 : -17.0);
    one.key = turned(one.key, *ring.rotary, 2, back);
    one.query = turned(call.query, *ring.rotary, kHeads, {22.0});
    const auto heads = reference::attention(one.shape, one.inputs(), one.options());
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t j = 0; j < 23; ++j) {
        EXPECT_NEAR(results.scores[h * 23 + j], heads[h].raw(0, j), 2e-5) << "key " << j;
        EXPECT_NEAR(results.probs[h * 23 + j], heads[h].probs(0, j), 2e-5) << "key " << j;
      }
  }
}

TEST(RingPositions, HasTheBitsOfPositionsInTheTextUntilItDrops) {
  KvCacheShape ring = ring_of(2, 10), text = ring;
  text.cache_positions = false;
  const Tokens tokens(ring, 13, 67);
  const auto cache = make_cache(ring), other = make_cache(text);
  for (std::int64_t p = 0; p < 13; ++p) {
    const Case call = tokens.dense_call(kHeads, 1, 68 + static_cast<std::uint32_t>(p));
    EXPECT_EQ(step(*cache, tokens, call, p).bits() == step(*other, tokens, call, p).bits(), p < 12) << p;
  }
}

TEST(RingPositions, ForksAndSavedCachesGoOnWithTheSameBitsOnEveryNumberOfThreads) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8}) {
    const KvCacheShape ring = ring_of(2, 140, dtype);
    const Tokens tokens(ring, 400, 69);
    const auto cache = make_cache(ring);
    ASSERT_OK(tokens.append(*cache, 0, 300));
    std::unique_ptr<KvCache> fork, loaded;
    ASSERT_OK(cache->fork(&fork));
    const std::vector<std::uint8_t> bytes = saved(*cache);
    ASSERT_OK(KvCache::load(bytes.data(), static_cast<std::int64_t>(bytes.size()), &loaded));
    EXPECT_TRUE(loaded->shape().cache_positions);
    std::int64_t done = 300;
    for (const std::int64_t piece : {1, 60, 1}) {
      Case call = tokens.dense_call(kHeads, piece, 70 + static_cast<std::uint32_t>(done));
      const auto bits = step(*cache, tokens, call, done, 1).bits();
      EXPECT_EQ(step(*fork, tokens, call, done, 2).bits(), bits);
      EXPECT_EQ(step(*loaded, tokens, call, done, 4).bits(), bits);
      done += piece;
    }
    EXPECT_EQ(saved(*fork), saved(*cache));
    EXPECT_EQ(saved(*loaded), saved(*cache));
  }
}

TEST(RingPositions, BatchesDropEachTheirOwnTokens) {
  KvCacheShape ring = ring_of(2, 5);
  ring.batch_size = 2;
  const Tokens tokens(ring, 40, 71);
  const auto cache = make_cache(ring), one_by_one = make_cache(ring);
  const std::int32_t before[] = {20, 4}, gains[] = {9, 2};
  for (KvCache* each : {cache.get(), one_by_one.get()})
    ASSERT_OK(tokens.append(*each, 0, 20, Layout::bhsd, Dtype::float32, before));
  Case call = tokens.dense_call(kHeads, 9, 72);
  call.scalars.causal = Causal::lower_right;
  call.query_lengths = {9, 2};
  Array key, value;
  Results all(call.shape, call.returns, call.dtype);
  ASSERT_OK(cache->step(pool_of(2), tokens.chunk_of(20, 9, gains, &key, &value), call.shape, call.inputs(),
                        call.options(), all.view()));
  for (std::int64_t i = 0; i < 9; ++i) {
    Case one = call;
    one.shape.query_length = 1;
    one.query = Array(Dtype::float32, 2 * kHeads * kWidth);
    for (std::int64_t h = 0; h < 2 * kHeads; ++h)
      for (std::int64_t d = 0; d < kWidth; ++d) one.query.set(h * kWidth + d, call.query.get((h * 9 + i) * kWidth + d));
    const std::int32_t gain[] = {1, i < 2 ? 1 : 0};
    one.query_lengths = {gain[0], gain[1]};
    Results row(one.shape, one.returns, one.dtype);
    ASSERT_OK(one_by_one->step(pool_of(1), tokens.chunk_of(20 + i, 1, gain, &key, &value), one.shape, one.inputs(),
                               one.options(), row.view()));
    for (std::int64_t h = 0; h < 2 * kHeads; ++h)
      for (std::int64_t d = 0; d < 7; ++d)
        EXPECT_NEAR(all.output.get((h * 9 + i) * 7 + d), row.output.get(h * 7 + d), 2e-6) << "row " << i;
  }
}

TEST(RingPositions, ASliceOfTheWindowGoesOnAsARingOfItsOwn) {
  const KvCacheShape ring = ring_of(3, 20);
  const Tokens tokens(ring, 60, 73);
  const auto cache = make_cache(ring);
  ASSERT_OK(tokens.append(*cache, 0, 23));
  std::unique_ptr<KvCache> part;
  ASSERT_OK(tokens.append(*cache, 23, 10));
  ASSERT_OK(cache->slice(3, 23, &part));
  EXPECT_EQ(part->length(0), 20);
  // The slice has tokens 13 to 32. Its own first three stay.
  for (std::int64_t p = 33; p < 60; ++p) {
    Case call = tokens.dense_call(kHeads, 1, 74);
    call.scalars.causal = Causal::lower_right;
    call.shape.key_length = std::min<std::int64_t>(p - 12, 23);
    Array key, value;
    Results results(call.shape, call.returns, call.dtype);
    ASSERT_OK(part->step(pool_of(1), tokens.chunk_of(p, 1, nullptr, &key, &value), call.shape, call.inputs(),
                         call.options(), results.view()));
    Case one = call;
    std::vector<double> places;
    const std::int64_t count = call.shape.key_length;
    one.key = Array(Dtype::float32, 2 * count * kWidth), one.value = Array(Dtype::float32, 2 * count * 7);
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t s = j < 3 ? 13 + j : p - count + 1 + j;
      places.push_back(static_cast<double>(j));
      for (std::int64_t g = 0; g < 2; ++g) {
        for (std::int64_t d = 0; d < kWidth; ++d) one.key.set((g * count + j) * kWidth + d, tokens.key(0, g, s, d));
        for (std::int64_t d = 0; d < 7; ++d) one.value.set((g * count + j) * 7 + d, tokens.value(0, g, s, d));
      }
    }
    one.scalars.causal = Causal::none;
    one.key = turned(one.key, *ring.rotary, 2, places);
    one.query = turned(call.query, *ring.rotary, kHeads, {static_cast<double>(count - 1)});
    const auto heads = reference::attention(one.shape, one.inputs(), one.options());
    expect_near_reference(one.shape, one.options(), one.returns, heads, results);
  }
}

/// Without a rotary embedding places count for ALiBi alone: the distance of places, not that of the text.
TEST(RingPositions, AlibiCountsPlacesInStepsOfAnyLength) {
  for (const std::int64_t keep_first : {0, 1, 5})
    for (const std::int64_t window : {1, 6, 50}) {
      SCOPED_TRACE("ring of " + std::to_string(keep_first) + " + " + std::to_string(window));
      KvCacheShape ring = ring_of(keep_first, window);
      ring.rotary.reset();
      const std::vector<std::int64_t> pieces{5, 1, 1, 60, 1, 9};
      const Tokens tokens(ring, 77, 81);
      const auto cache = make_cache(ring);
      std::int64_t done = 0;
      for (const std::int64_t piece : pieces) {
        Case call = tokens.dense_call(kHeads, piece, 82 + static_cast<std::uint32_t>(done));
        call.alibi_slopes = {0.5f, 0.25f, 0.125f, -0.0625f};
        call.returns.lse = true;
        const Results results = step(*cache, tokens, call, done);
        for (std::int64_t i = 0; i < piece; ++i) {
          ring.rotary = RotaryOptions();
          Case one = alone(ring, tokens, call, i, done + i);
          ring.rotary.reset();
          const std::vector<std::int64_t> seen = seen_by(ring, done + i);
          const std::int64_t count = one.shape.key_length;
          one.query_offset = {static_cast<std::int32_t>(count - 1)};  // ALiBi of the places
          for (std::int64_t h = 0; h < kHeads; ++h)
            for (std::int64_t d = 0; d < kWidth; ++d)
              one.query.set(h * kWidth + d, call.query.get((h * piece + i) * kWidth + d));
          for (std::int64_t g = 0; g < 2; ++g)
            for (std::int64_t j = 0; j < count; ++j)
              for (std::int64_t d = 0; d < kWidth; ++d)
                one.key.set((g * count + j) * kWidth + d, tokens.key(0, g, seen[static_cast<std::size_t>(j)], d));
          expect_row_near_reference(one, results, i);
        }
        done += piece;
      }
      std::unique_ptr<KvCache> loaded;
      const std::vector<std::uint8_t> bytes = saved(*cache);
      ASSERT_OK(KvCache::load(bytes.data(), static_cast<std::int64_t>(bytes.size()), &loaded));
      EXPECT_TRUE(loaded->shape().cache_positions);
      EXPECT_FALSE(loaded->shape().rotary);
      EXPECT_EQ(saved(*loaded), bytes);
    }
}

TEST(RingPositions, RefusesWhatItDoesNotDefine) {
  const auto expect_refused = [](const Status& status, StatusCode code, const std::string& words) {
    EXPECT_EQ(status.code, code) << status.message().text;
    EXPECT_NE(std::string(status.message().text).find(words), std::string::npos) << status.message().text;
  };
  std::unique_ptr<KvCache> cache;
  KvCacheShape shape = ring_of(2, 5);
  shape = ring_of(0, 0);
  expect_refused(KvCache::create(shape, &cache), StatusCode::invalid_option, "needs a ring");
  shape = ring_of(2, 5);
  const std::vector<float> table(60, 1.0f);
  shape.rotary->scaling = RotaryScaling::tables;
  shape.rotary->cosines = shape.rotary->sines = table.data();
  shape.rotary->table_rows = 10;
  expect_refused(KvCache::create(shape, &cache), StatusCode::unsupported, "tables");

  shape = ring_of(2, 5);
  const Tokens tokens(shape, 20, 75);
  cache = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 20));
  const std::int32_t position = 3;
  Array key, value;
  NewTokens chunk = tokens.chunk_of(19, 1, nullptr, &key, &value);
  chunk.positions = &position;
  expect_refused(cache->append(pool_of(1), chunk), StatusCode::invalid_option, "positions do not go");
  Case call = tokens.dense_call(kHeads, 1, 76);
  call.shape.key_length = 7;
  Results results(call.shape, call.returns, call.dtype);
  AttentionInputs inputs = call.inputs();
  const auto attend = [&](const AttendInside& inside = {}) {
    return cache->attend(pool_of(1), call.shape, inputs, call.options(), results.view(), inside);
  };
  inputs.query_positions = &position;
  expect_refused(attend(), StatusCode::invalid_option, "positions do not go");
  inputs.query_positions = nullptr;
  AttendInside inside;
  inside.query.mean = true;
  expect_refused(attend(inside), StatusCode::unsupported, "patch.query");
  call.alibi_slopes = {1, 1, 1, 1};
  call.alibi_query_positions = {3};
  call.alibi_key_positions = {0, 1, 2, 3, 4, 5, 6};
  expect_refused(attend(), StatusCode::invalid_option, "alibiQueryPositions do not go");
}

}  // namespace headwise::test_ring_positions
