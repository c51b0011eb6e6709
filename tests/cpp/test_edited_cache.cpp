#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "expectations.h"
#include "headwise/kv_cache.h"
#include "kv_tokens.h"
#include "source/kv_cache_store.h"

// select and keep, against caches that were given only the tokens that stay.

namespace headwise::test_edited_cache {

constexpr Dtype kDtypes[] = {Dtype::float32, Dtype::float16, Dtype::int8};

KvCacheShape shape_of(Dtype dtype, bool turns = false) {
  KvCacheShape shape;
  shape.batch_size = 3;
  shape.num_kv_heads = 2;
  shape.head_dim = 12;
  shape.value_dim = 7;
  shape.dtype = dtype;
  if (turns) {
    shape.rotary = RotaryOptions();
    shape.rotary->rotary_dim = 8;
    // Its amplitude is not 1: a key must not be multiplied by it a second time.
    shape.rotary->scaling = RotaryScaling::yarn;
    shape.rotary->factor = 4.0;
    shape.rotary->original_length = 64.0;
  }
  return shape;
}

KvCacheShape ring_of(std::int64_t keep_first, std::int64_t window) {
  KvCacheShape shape = shape_of(Dtype::float32);
  shape.keep_first = keep_first, shape.window = window;
  return shape;
}

void expect_refused(const Status& status, const std::string& words) {
  EXPECT_EQ(status.code, StatusCode::invalid_option) << status.message().text;
  EXPECT_NE(std::string(status.message().text).find(words), std::string::npos) << status.message().text;
}

/// What stays of each batch.
struct Kept {
  std::vector<std::int32_t> from, counts, rows;

  Kept(std::vector<std::int32_t> begins, const std::vector<std::vector<std::int32_t>>& batches)
      : from(std::move(begins)) {
    for (const auto& batch : batches) {
      counts.push_back(static_cast<std::int32_t>(batch.size()));
      rows.insert(rows.end(), batch.begin(), batch.end());
    }
  }

  [[nodiscard]] Status in(KvCache& cache, int threads = 1) const {
    return cache.keep(pool_of(threads), {from.data(), counts.data(), rows.data()});
  }

  /// The positions of the tokens of batch b that stay.
  [[nodiscard]] std::vector<std::int64_t> positions(std::int64_t b) const {
    std::vector<std::int64_t> kept;
    for (std::int64_t p = 0; p < from[b]; ++p) kept.push_back(p);
    std::int64_t first = 0;
    for (std::int64_t n = 0; n < b; ++n) first += counts[n];
    for (std::int64_t i = 0; i < counts[b]; ++i) kept.push_back(from[b] + rows[first + i]);
    return kept;
  }
};

std::vector<std::int32_t> from_to(std::int32_t from, std::int32_t to) {
  std::vector<std::int32_t> rows;
  for (std::int32_t row = from; row < to; ++row) rows.push_back(row);
  return rows;
}

/// Branches of trees, ranges taken out at the start, in the middle and at the end, over several blocks of 128 tokens.
std::vector<Kept> kept_cases() {
  return {
      Kept({290, 200, 0}, {{0, 2, 3, 7}, {1}, {}}),
      Kept({0, 0, 0}, {from_to(40, 300), from_to(129, 250), from_to(0, 3)}),
      Kept({4, 130, 10}, {from_to(250, 296), from_to(1, 100), from_to(1, 200)}),
      Kept({300, 250, 0}, {{}, {}, {5, 9, 10}}),
  };
}

/// A cache with 300, 250 and 280 tokens.
std::unique_ptr<KvCache> filled(const KvCacheShape& shape, const Tokens& tokens) {
  auto cache = make_cache(shape);
  const std::int32_t lengths[3] = {300, 250, 280};
  EXPECT_TRUE(tokens.append(*cache, 0, 300, Layout::bhsd, Dtype::float32, lengths).ok());
  return cache;
}

/// Appends to batch b of a cache only these tokens, one by one.
void append_only(KvCache& cache, const Tokens& tokens, std::int64_t b, const std::vector<std::int64_t>& positions) {
  for (const std::int64_t p : positions) {
    std::int32_t lengths[3] = {0, 0, 0};
    lengths[b] = 1;
    ASSERT_OK(tokens.append(cache, p, 1, Layout::bhsd, Dtype::float32, lengths));
  }
}

// ------------------------------------------------------------------------------------------------------------- select

TEST(KvCacheSelect, GivesEachBatchWhatAnotherHeld) {
  const std::vector<std::vector<std::int32_t>> lists = {{0, 1, 2}, {2, 0, 1}, {1, 0, 1}, {2, 2, 2}, {1, 2, 0}};
  for (const bool turns : {false, true})
    for (const Dtype dtype : kDtypes)
      for (const auto& indices : lists) {
        const KvCacheShape shape = shape_of(dtype, turns);
        const Tokens tokens(shape, 320, 1);
        const auto before = filled(shape, tokens), after = filled(shape, tokens);
        ASSERT_OK(after->select(indices.data()));
        for (std::int64_t b = 0; b < 3; ++b) {
          EXPECT_EQ(after->appended(b), before->appended(indices[b]));
          for (std::int64_t g = 0; g < 2; ++g) {
            const auto rows = held_rows(*after, b, g), expected = held_rows(*before, indices[b], g);
            ASSERT_EQ(rows.size(), expected.size());
            for (std::size_t j = 0; j < rows.size(); ++j) {
              ASSERT_EQ(rows[j].key, expected[j].key);
              ASSERT_EQ(rows[j].value, expected[j].value);
            }
          }
        }
      }
}

TEST(KvCacheSelect, BatchesThatShareBlocksGoOnByThemselves) {
  for (const KvCacheShape& shape : {shape_of(Dtype::float32), shape_of(Dtype::int8, true), ring_of(2, 60)}) {
    const Tokens tokens(shape, 340, 2);
    const auto cache = filled(shape, tokens);
    const std::int32_t indices[3] = {1, 1, 1};
    ASSERT_OK(cache->select(indices));
    EXPECT_EQ(cache->store().block(0, 0), cache->store().block(2, 0));
    std::unique_ptr<KvCache> fork;
    ASSERT_OK(cache->fork(&fork));
    const auto before = saved(*fork);
    const auto alone = held_rows(*fork, 2, 1);
    const std::int32_t lengths[3] = {20, 3, 0};  // each batch has tokens of its own
    ASSERT_OK(tokens.append(*cache, 300, 20, Layout::bhsd, Dtype::float32, lengths));
    EXPECT_EQ(saved(*fork), before);
    const auto rows = held_rows(*cache, 2, 1);
    ASSERT_EQ(rows.size(), alone.size());
    for (std::size_t j = 0; j < rows.size(); ++j) ASSERT_EQ(rows[j].key, alone[j].key);
    if (shape.rotary) continue;
    for (const std::int64_t b : {0, 1})
      EXPECT_EQ(held_rows(*cache, b, 0).back().key[3], tokens.key(b, 0, 299 + lengths[b], 3));
  }
}

TEST(KvCacheSelect, TakesTheAnglesOfSlicesAlong) {
  const KvCacheShape shape = shape_of(Dtype::float32, true);
  const Tokens tokens(shape, 320, 3);
  const auto cache = filled(shape, tokens);
  std::unique_ptr<KvCache> part;
  ASSERT_OK(cache->slice(270, 300, &part));  // the batches now differ in their angles
  const std::int64_t origins[3] = {part->store().rotary_origin[0], part->store().rotary_origin[1],
                                   part->store().rotary_origin[2]};
  EXPECT_NE(origins[0], origins[1]);
  const std::int32_t indices[3] = {1, 0, 0};
  ASSERT_OK(part->select(indices));
  for (std::int64_t b = 0; b < 3; ++b) EXPECT_EQ(part->store().rotary_origin[b], origins[indices[b]]);
}

TEST(KvCacheSelect, RefusesBatchesThatAreNotThere) {
  const KvCacheShape shape = shape_of(Dtype::float32);
  const Tokens tokens(shape, 300, 4);
  const auto cache = filled(shape, tokens);
  const auto before = saved(*cache);
  const std::int32_t high[3] = {0, 3, 1}, low[3] = {0, 1, -1};
  expect_refused(cache->select(high), "indices[1] must be an integer from 0 to 2, got 3");
  expect_refused(cache->select(low), "indices[2]");
  EXPECT_EQ(saved(*cache), before);
}

// --------------------------------------------------------------------------------------------------------------- keep

TEST(KvCacheKeep, HoldsWhatACacheOfTheKeptTokensHolds) {
  for (const Dtype dtype : kDtypes)
    for (const Kept& kept : kept_cases())
      for (const int threads : {1, 3}) {
        const KvCacheShape shape = shape_of(dtype);
        const Tokens tokens(shape, 340, 5);
        const auto edited = filled(shape, tokens), fresh = make_cache(shape);
        ASSERT_OK(kept.in(*edited, threads));
        for (std::int64_t b = 0; b < 3; ++b) append_only(*fresh, tokens, b, kept.positions(b));
        EXPECT_EQ(saved(*edited), saved(*fresh));
        EXPECT_EQ(edited->bytes(), fresh->bytes());
        for (KvCache* const each : {edited.get(), fresh.get()}) ASSERT_OK(tokens.append(*each, 300, 40));
        EXPECT_EQ(saved(*edited), saved(*fresh));
      }
}

TEST(KvCacheKeep, LeavesForksAndSharedBatchesAlone) {
  const KvCacheShape shape = shape_of(Dtype::int8);
  const Tokens tokens(shape, 300, 6);
  const auto cache = filled(shape, tokens);
  const std::int32_t same[3] = {0, 0, 0};
  ASSERT_OK(cache->select(same));
  std::unique_ptr<KvCache> fork;
  ASSERT_OK(cache->fork(&fork));
  const auto before = saved(*fork);
  const Kept kept({3, 300, 200}, {{1, 2, 200}, {}, {9, 20}});
  ASSERT_OK(kept.in(*cache, 3));
  EXPECT_EQ(saved(*fork), before);
  const auto whole = held_rows(*fork, 1, 1), left = held_rows(*cache, 1, 1), branch = held_rows(*cache, 2, 1);
  ASSERT_EQ(left.size(), 300u);
  for (std::size_t j = 0; j < 300; ++j) ASSERT_EQ(left[j].key, whole[j].key);
  EXPECT_EQ(branch[201].value, whole[220].value);
}

/// The length of the pair that feature d of a key belongs to, or of the feature if it is not turned.
float pair_length(const KvCacheShape& shape, const std::vector<float>& key, std::int64_t d) {
  const std::int64_t rotary_dim = shape.rotary->rotary_dim, half = rotary_dim / 2;
  if (d >= rotary_dim) return std::abs(key[d]);
  return std::hypot(key[d % half], key[d % half + half]);
}

/// How far a key that was turned twice may be from one that was turned once. Each of the three turns is off by at most
/// 3 sqrt(2) * 2^-24 of the pair's length: cos or sin, the product and the sum are rounded, in both features. Each
/// storing rounds both features again: float16 by 2^-11, int8 by 0.5001 scales.
double tolerance(const KvCacheShape& shape, const std::vector<float>& key, std::int64_t d) {
  const double length = pair_length(shape, key, d);
  const double largest =
      std::abs(*std::max_element(key.begin(), key.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
  const double slack = 1.05;  // the lengths and the scale are themselves those of rounded keys
  const double turning = 3.0 * 3.0 * std::sqrt(2.0) * 0x1p-24 * length;
  if (shape.dtype == Dtype::float32) return slack * turning;
  if (shape.dtype == Dtype::float16) return slack * (turning + 3.0 * 0x1p-11 * length);
  // The scale of the first storing is that of a key whose pairs had other angles: up to sqrt(2) times as large.
  return slack * (turning + (2.0 * std::sqrt(2.0) * std::sqrt(2.0) + 1.0) * 0.5001 * largest / 127.0);
}

TEST(KvCacheKeep, TurnsTheKeysThatMoveToTheirNewPositions) {
  for (const Dtype dtype : kDtypes)
    for (const Kept& kept : kept_cases()) {
      const KvCacheShape shape = shape_of(dtype, true);
      const Tokens tokens(shape, 340, 7);
      const auto edited = filled(shape, tokens), fresh = make_cache(shape);
      ASSERT_OK(kept.in(*edited, 2));
      for (std::int64_t b = 0; b < 3; ++b) {
        const auto positions = kept.positions(b);
        const std::int64_t origin = edited->store().rotary_origin[b];
        EXPECT_EQ(origin, kept.from[b] == 0 && !positions.empty() ? positions[0] : 0);
        fresh->store().rotary_origin[b] = origin;
        append_only(*fresh, tokens, b, positions);
      }
      double worst = 0.0;
      for (std::int64_t b = 0; b < 3; ++b)
        for (std::int64_t g = 0; g < 2; ++g) {
          const auto rows = held_rows(*edited, b, g), expected = held_rows(*fresh, b, g);
          const auto positions = kept.positions(b);
          ASSERT_EQ(rows.size(), expected.size());
          for (std::size_t j = 0; j < rows.size(); ++j) {
            ASSERT_EQ(rows[j].value, expected[j].value);
            const std::int64_t turn = positions[j] - static_cast<std::int64_t>(j) - edited->store().rotary_origin[b];
            for (std::int64_t d = 0; d < 12; ++d) {
              const double error = std::abs(double{rows[j].key[d]} - expected[j].key[d]);
              const double most = turn == 0 ? 0.0 : tolerance(shape, expected[j].key, d);
              ASSERT_LE(error, most) << "batch " << b << ", row " << j << ", feature " << d;
              worst = std::max(worst, most > 0.0 ? error / most : 0.0);
            }
          }
        }
      RecordProperty("of the tolerance", std::to_string(worst));
    }
}

TEST(KvCacheKeep, TurnsKeysAfterAnAppendOfPaddingWithPositions) {
  const KvCacheShape shape = shape_of(Dtype::float32, true);
  const Tokens tokens(shape, 12, 71);
  const auto cache = make_cache(shape), expected = make_cache(shape);
  for (KvCache* each : {cache.get(), expected.get()}) ASSERT_OK(tokens.append(*each, 0, 8));
  const std::int32_t none[3] = {}, positions[6] = {5, 6, 5, 6, 5, 6};
  cases::Array key, value;
  NewTokens padding = tokens.chunk_of(8, 2, none, &key, &value);
  padding.positions = positions;
  ASSERT_OK(cache->append(pool_of(1), padding));
  EXPECT_EQ(saved(*cache), saved(*expected));
  const Kept kept({1, 1, 1}, {{1, 3}, {0}, {}});
  for (KvCache* each : {cache.get(), expected.get()}) ASSERT_OK(kept.in(*each));
  EXPECT_EQ(saved(*cache), saved(*expected));
}

TEST(KvCacheKeep, ARowThatIsNotFiniteStaysAloneSo) {
  for (const Dtype dtype : kDtypes) {
    const KvCacheShape shape = shape_of(dtype, true);
    Tokens tokens(shape, 300, 8);
    tokens.set_key(0, 1, 200, 2, std::numeric_limits<float>::quiet_NaN());
    const auto cache = filled(shape, tokens);
    ASSERT_OK(Kept({5, 250, 280}, {from_to(100, 290), {}, {}}).in(*cache));
    const auto rows = held_rows(*cache, 0, 1);
    for (std::int64_t j = 0; j < 195; ++j) EXPECT_EQ(std::isnan(rows[j].key[2]), j == 100) << j;
  }
}

TEST(KvCacheKeep, RefusesWhatIsNotThereAndStaysAsItWas) {
  const KvCacheShape shape = shape_of(Dtype::float32);
  const Tokens tokens(shape, 300, 9);
  const auto cache = filled(shape, tokens);
  const auto before = saved(*cache);
  expect_refused(Kept({300, 251, 280}, {{}, {}, {}}).in(*cache), "from[1] must be an integer from 0 to 250, got 251");
  expect_refused(Kept({300, -1, 280}, {{}, {}, {}}).in(*cache), "from[1]");
  expect_refused(Kept({290, 240, 280}, {{1}, {10}, {}}).in(*cache), "rows of batch 1 must ascend and be in 0..9");
  expect_refused(Kept({290, 240, 280}, {{1, 1}, {}, {}}).in(*cache), "rows of batch 0 must ascend");
  expect_refused(Kept({290, 240, 270}, {{1}, {2}, {3, 2}}).in(*cache), "rows of batch 2 must ascend");
  expect_refused(Kept({290, 240, 270}, {{-1}, {}, {}}).in(*cache), "rows of batch 0");
  EXPECT_EQ(saved(*cache), before);
}

TEST(KvCacheKeep, ARingKeepsOnlyBeforeItHasDroppedATokenOfTheBatch) {
  const KvCacheShape shape = ring_of(2, 10);
  const Tokens tokens(shape, 60, 10);
  const auto cache = make_cache(shape), fresh = make_cache(shape);
  ASSERT_OK(tokens.append(*cache, 0, 12));
  const Kept kept({5, 12, 0}, {{2, 6}, {}, {3}});
  ASSERT_OK(kept.in(*cache));
  for (std::int64_t b = 0; b < 3; ++b) append_only(*fresh, tokens, b, kept.positions(b));
  EXPECT_EQ(saved(*cache), saved(*fresh));
  for (KvCache* const each : {cache.get(), fresh.get()}) ASSERT_OK(tokens.append(*each, 20, 30));
  EXPECT_EQ(saved(*cache), saved(*fresh));
  const auto before = saved(*cache);
  expect_refused(Kept({5, 5, 5}, {{2}, {2}, {2}}).in(*cache), "dropped");
  EXPECT_EQ(saved(*cache), before);
}

}  // namespace headwise::test_edited_cache
