// What attention over a cache shows and overwrites of its inside: queries, keys, values, weights and heads.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "harness.h"
#include "headwise/kv_cache.h"
#include "kv_tokens.h"
#include "patches.h"
#include "refusals.h"

namespace headwise::test_attend_inside {

using cases::Array;
using cases::Case;
using cases::Results;
using Floats = std::vector<float>;

constexpr std::int64_t kBatch = 2, kHeads = 4, kKvHeads = 2, kQueries = 5, kHeadDim = 12, kValueDim = 7, kTokens = 20;
constexpr std::int32_t kLengths[kBatch] = {kTokens, 13};
constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

/// A cache whose batches have different lengths.
std::unique_ptr<KvCache> filled(Dtype dtype, bool rotary) {
  KvCacheShape shape;
  shape.batch_size = kBatch;
  shape.num_kv_heads = kKvHeads;
  shape.head_dim = kHeadDim;
  shape.value_dim = kValueDim;
  shape.dtype = dtype;
  if (rotary) shape.rotary = RotaryOptions();
  auto cache = make_cache(shape);
  const Status status = Tokens(shape, kTokens, 1).append(*cache, 0, kTokens, Layout::bhsd, Dtype::float32, kLengths);
  EXPECT_TRUE(status.ok()) << status.message().text;
  return cache;
}

Case call_with(Dtype dtype) {
  Case call = random_case({kBatch, kHeads, kKvHeads, kQueries, kTokens, kHeadDim, kValueDim}, 2);
  const Array query = call.query;
  call.dtype = dtype;
  call.query = Array(dtype, query.size());
  for (std::int64_t n = 0; n < query.size(); ++n) call.query.set(n, query.get(n));
  call.returns.probs.emplace();
  return call;
}

/// Everything that a call shows.
struct Shown {
  explicit Shown(const Case& call) : results(call.shape, call.returns, call.dtype) {}

  Results results;
  Floats query = Floats(kBatch * kHeads * kQueries * kHeadDim), key = Floats(kBatch * kKvHeads * kTokens * kHeadDim),
         value = Floats(kBatch * kKvHeads * kTokens * kValueDim),
         heads = Floats(kBatch * kHeads * kQueries * kValueDim);

  [[nodiscard]] AttentionViews views() { return {{query.data()}, {key.data()}, {value.data()}, {heads.data()}}; }
  bool operator==(const Shown& other) const {
    return results.bits() == other.results.bits() && query == other.query && key == other.key && value == other.value &&
           heads == other.heads;
  }
};

Status run(const KvCache& cache, const Case& call, AttendInside inside, Shown& shown, int threads = 1,
           Patch probs = {}) {
  inside.views = shown.views();
  AttentionInputs inputs = call.inputs();
  inputs.probs = probs;
  return cache.attend(pool_of(threads), call.shape, inputs, call.options(), shown.results.view(), inside);
}

Shown shown_by(const KvCache& cache, const Case& call, const AttendInside& inside = {}, int threads = 1,
               Patch probs = {}) {
  Shown shown(call);
  const Status status = run(cache, call, inside, shown, threads, probs);
  EXPECT_TRUE(status.ok()) << status.message().text;
  return shown;
}

TEST(AttendInside, ShowingChangesNoBit) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16})
    for (const bool rotary : {false, true}) {
      const auto cache = filled(Dtype::float32, rotary);
      const Case call = call_with(dtype);
      Results plain(call.shape, call.returns, dtype);
      ASSERT_TRUE(cache->attend(pool_of(1), call.shape, call.inputs(), call.options(), plain.view()).ok());
      EXPECT_EQ(shown_by(*cache, call).results.bits(), plain.bits()) << "rotary " << rotary;
    }
}

TEST(AttendInside, EachCanBeShownAlone) {
  const auto cache = filled(Dtype::float32, true);
  const Case call = call_with(Dtype::float32);
  const Shown all = shown_by(*cache, call);
  struct Part {
    Floats Shown::*numbers;
    View AttentionViews::*view;
  };
  for (const auto& [numbers, view] :
       {Part{&Shown::query, &AttentionViews::query}, Part{&Shown::key, &AttentionViews::key},
        Part{&Shown::value, &AttentionViews::value}, Part{&Shown::heads, &AttentionViews::head_outputs}}) {
    Shown alone(call);
    AttendInside inside;
    (inside.views.*view).data = (alone.*numbers).data();
    const Status status =
        cache->attend(pool_of(1), call.shape, call.inputs(), call.options(), alone.results.view(), inside);
    ASSERT_TRUE(status.ok()) << status.message().text;
    EXPECT_EQ(alone.*numbers, all.*numbers);
    EXPECT_EQ(alone.results.bits(), all.results.bits());
  }
}

TEST(AttendInside, OwnDataChangesNoBit) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16})
    for (const bool rotary : {false, true}) {
      const auto cache = filled(Dtype::float32, rotary);
      const Case call = call_with(dtype);
      const Shown own = shown_by(*cache, call);
      EXPECT_EQ(shown_by(*cache, call, {patch_with(own.query), patch_with(own.heads), {}}), own) << "rotary " << rotary;
    }
}

TEST(AttendInside, PatchedQueriesGiveWhatACallOfThoseQueriesGives) {
  const auto cache = filled(Dtype::float32, false);
  const Case call = call_with(Dtype::float32);
  Case other = call;
  for (std::int64_t n = 0; n < call.query.size(); ++n) other.query.set(n, -call.query.get(n));
  const Shown expected = shown_by(*cache, other);
  EXPECT_EQ(shown_by(*cache, call, {patch_with(expected.query), {}, {}}), expected);
  EXPECT_NE(shown_by(*cache, call).results.bits(), expected.results.bits());
}

TEST(AttendInside, ShowsTheKeysAndValuesThatTheCacheHolds) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8}) {
    const auto cache = filled(dtype, true);
    const Shown shown = shown_by(*cache, call_with(Dtype::float32));
    for (std::int64_t b = 0; b < kBatch; ++b)
      for (std::int64_t g = 0; g < kKvHeads; ++g) {
        const std::vector<HeldRow> rows = held_rows(*cache, b, g);
        for (std::int64_t j = 0; j < kTokens; ++j) {
          const std::int64_t row = (b * kKvHeads + g) * kTokens + j;
          for (std::int64_t d = 0; d < kHeadDim; ++d)
            EXPECT_EQ(shown.key[row * kHeadDim + d], j < kLengths[b] ? rows[j].key[d] : 0.0f) << j;
          for (std::int64_t d = 0; d < kValueDim; ++d)
            EXPECT_EQ(shown.value[row * kValueDim + d], j < kLengths[b] ? rows[j].value[d] : 0.0f) << j;
        }
      }
  }
}

TEST(AttendInside, QueriesWithoutRotaryAreTheCallersWidened) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
    const auto cache = filled(Dtype::float32, false);
    const Case call = call_with(dtype);
    const Shown shown = shown_by(*cache, call);
    for (std::int64_t n = 0; n < std::ssize(shown.query); ++n)
      EXPECT_EQ(shown.query[n], static_cast<float>(call.query.get(n)));
  }
}

TEST(AttendInside, HeadsAreTheOutputAlsoWhereNoneIsWanted) {
  const auto cache = filled(Dtype::float32, true);
  Case call = call_with(Dtype::float32);
  const Shown shown = shown_by(*cache, call);
  for (std::int64_t n = 0; n < std::ssize(shown.heads); ++n)
    EXPECT_EQ(shown.heads[n], static_cast<float>(shown.results.output.get(n)));
  call.returns.output = false;
  EXPECT_EQ(shown_by(*cache, call).heads, shown.heads);
}

TEST(AttendInside, PatchedHeadsAreTheOutput) {
  const auto cache = filled(Dtype::float32, false);
  const Case call = call_with(Dtype::float16);
  const Indices heads{2}, rows{4, 1};
  Floats data(kBatch * 2 * kValueDim);
  for (std::int64_t n = 0; n < std::ssize(data); ++n) data[n] = static_cast<float>(n) / 4;  // exact in float16
  const Shown own = shown_by(*cache, call);
  const Shown shown = shown_by(*cache, call, {{}, patch_with(data, &heads, &rows), {}});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < kQueries; ++i)
        for (std::int64_t d = 0; d < kValueDim; ++d) {
          const std::int64_t at = ((b * kHeads + h) * kQueries + i) * kValueDim + d;
          const bool patched = h == 2 && (i == 4 || i == 1);
          const double expected =
              patched ? data[(b * 2 + (i == 4 ? 0 : 1)) * kValueDim + d] : own.results.output.get(at);
          EXPECT_EQ(shown.results.output.get(at), expected);
        }
}

TEST(AttendInside, MeanWeightsGiveTheMeanOfTheValues) {
  const auto cache = filled(Dtype::float32, false);
  const Case call = call_with(Dtype::float32);
  const Indices heads{1}, rows{2};
  const Shown own = shown_by(*cache, call), shown = shown_by(*cache, call, {}, 1, mean_patch(&heads, &rows));
  for (std::int64_t b = 0; b < kBatch; ++b) {
    const std::int64_t count = kLengths[b], row = (b * kHeads + 1) * kQueries + 2;
    // The sum of the row's weights, their mean and the quotient of both err by at most count + 2 roundings.
    const float bound = static_cast<float>(count + 2) * kEpsilon;
    for (std::int64_t j = 0; j < count; ++j) {
      const float weight = 1.0f / static_cast<float>(count);
      EXPECT_NEAR(shown.results.probs[row * kTokens + j], weight, bound * weight);
    }
    for (std::int64_t d = 0; d < kValueDim; ++d) {
      double sum = 0, size = 0;
      for (std::int64_t j = 0; j < count; ++j) {
        const double value = shown.value[(b * kKvHeads * kTokens + j) * kValueDim + d];  // kv head 0 serves head 1
        sum += value / static_cast<double>(count);
        size += std::fabs(value) / static_cast<double>(count);
      }
      EXPECT_NEAR(shown.heads[row * kValueDim + d], sum, 2 * bound * size);
    }
  }
  for (std::int64_t n = 0; n < std::ssize(own.heads); ++n) {
    const std::int64_t row = n / kValueDim;
    const bool patched = row / kQueries % kHeads == 1 && row % kQueries == 2;
    EXPECT_EQ(shown.heads[n] == own.heads[n], !patched) << n;
  }
}

TEST(AttendInside, BitsDoNotDependOnThreads) {
  const auto cache = filled(Dtype::float16, true);
  const Case call = call_with(Dtype::float16);
  const AttendInside inside{mean_patch(), mean_patch(), {}};
  const Shown one = shown_by(*cache, call, inside, 1, mean_patch());
  for (const int threads : {2, 4}) EXPECT_EQ(shown_by(*cache, call, inside, threads, mean_patch()), one);
}

TEST(AttendInside, EveryRefusedAllocationIsAStatus) {
  const auto cache = filled(Dtype::float32, false);
  const Case call = call_with(Dtype::float16);
  const AttendInside inside{mean_patch(), mean_patch(), {}};
  const Shown expected = shown_by(*cache, call, inside, 1, mean_patch());
  const auto attempt = [&] {
    Shown shown(call);
    return run(*cache, call, inside, shown, 1, mean_patch());
  };
  const auto look = [&] { EXPECT_EQ(shown_by(*cache, call, inside, 1, mean_patch()), expected); };
  EXPECT_GT(refuse_each_request(attempt, look), 3);
}

TEST(AttendInside, RefusesWhatIsNotThere) {
  const auto cache = filled(Dtype::float32, false);
  const Case call = call_with(Dtype::float32);
  const Floats data(1000, 0.0f);
  const Indices head{kHeads}, row{kQueries};
  const auto code = [&](const AttendInside& inside) {
    Shown shown(call);
    return run(*cache, call, inside, shown).code;
  };
  EXPECT_EQ(code({patch_with(data, &head), {}, {}}), StatusCode::invalid_option);
  EXPECT_EQ(code({{}, patch_with(data, nullptr, &row), {}}), StatusCode::invalid_option);
  const Indices twice{1, 1};
  EXPECT_EQ(code({patch_with(data, &twice), {}, {}}), StatusCode::invalid_option);
  EXPECT_EQ(code({{}, patch_with(data, nullptr, &twice), {}}), StatusCode::invalid_option);
  Patch average = mean_patch();
  average.selection.average = true;
  EXPECT_EQ(code({average, {}, {}}), StatusCode::invalid_option);

  AttendInside inside;
  Floats key(1000);
  const Indices kv_head{kKvHeads};
  inside.views.key = {key.data(), patch_with(data, &kv_head).selection};
  Results results(call.shape, call.returns, call.dtype);
  EXPECT_EQ(cache->attend(pool_of(1), call.shape, call.inputs(), call.options(), results.view(), inside).code,
            StatusCode::invalid_option);
}

}  // namespace headwise::test_attend_inside
