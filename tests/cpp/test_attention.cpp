#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "expectations.h"
#include "harness.h"
#include "headwise/attention.h"
#include "tolerance.h"

namespace headwise::test_attention {

class EveryCase : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const cases::Case& call() const { return cases::table()[GetParam()]; }
};

TEST_P(EveryCase, LiesWithinTheErrorModelWithTheSameBitsForEveryThreadCount) {
  const AttentionOptions options = call().options();
  const std::vector<reference::Head> expected = reference::attention(call().shape, call().inputs(), options);
  for (const KernelTable* table : kernel_tables()) {
    SCOPED_TRACE(table->name);
    const UsingKernels kernels(*table);
    const cases::Results results = compute(call());
    expect_near_reference(call().shape, options, call().returns, expected, results);
    for (int threads = 2; threads <= 4; ++threads)
      EXPECT_EQ(compute(call(), threads).bits(), results.bits()) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryCase, testing::Range(std::size_t{0}, cases::table().size()), case_at);

/// Where every key is the same, every score of a row is, and what decides is the order.
TEST(TopK, OfGivenWeightsBelow0AreThoseOfTheVisibleKeys) {
  for (const std::int64_t keys : {40, 256}) {
    cases::Case call = random_case({1, 1, 1, 1, keys, 4, 4}, 31);
    call.has_mask = true;
    call.mask.assign(keys, 0);
    call.mask[3] = call.mask[9] = 1;
    call.mask_extents = {{1, 1, 1, keys}};
    call.returns.top_k.emplace();
    call.returns.k = 3;
    std::vector<float> weights(keys, 0.0f);
    weights[3] = -2.0f, weights[9] = -1.0f;
    AttentionInputs inputs = call.inputs();
    inputs.probs.data = weights.data();
    const cases::Results results = compute(call, inputs);
    EXPECT_EQ(results.top_k_indices, (std::vector<std::int32_t>{9, 3, -1}));
    EXPECT_EQ(results.top_k_values, (std::vector<float>{-1.0f, -2.0f, 0.0f}));
  }
}

TEST(TopK, TiesGoToTheLowerIndexInEveryHeadAndInTheirMean) {
  for (const bool average : {false, true}) {
    cases::Case call = random_case({1, 2, 2, 9, 50, 8, 8}, 901);
    for (std::int64_t k = 0; k < call.key.size(); ++k) call.key.set(k, 0.5);
    call.returns.top_k = cases::OwnedSelection{{}, {}, average};
    call.returns.k = 4;
    const cases::Results results = compute(call);
    for (std::size_t n = 0; n < results.top_k_indices.size(); ++n)
      ASSERT_EQ(results.top_k_indices[n], static_cast<std::int32_t>(n % 4));
  }
}

TEST(Dtypes, EveryArrayMayHaveItsOwn) {
  const cases::Case half = cases::named("half-17-33");  // its inputs are exact in both types
  const auto widened = [](const cases::Array& array) {
    cases::Array floats(Dtype::float32, array.size());
    for (std::int64_t k = 0; k < array.size(); ++k) floats.set(k, array.get(k));
    return floats;
  };
  cases::Case wide = half;
  wide.dtype = Dtype::float32;
  wide.query = widened(half.query), wide.key = widened(half.key), wide.value = widened(half.value);
  const cases::Results expected = compute(wide);
  for (int mix = 0; mix < 8; ++mix) {
    cases::Case mixed = wide;
    if ((mix & 1) != 0) mixed.query = half.query;
    if ((mix & 2) != 0) mixed.key = half.key;
    if ((mix & 4) != 0) mixed.value = half.value;
    EXPECT_EQ(compute(mixed).bits(), expected.bits()) << "mix " << mix;
  }
  const cases::Results stored = compute(half);
  for (std::int64_t k = 0; k < stored.output.size(); ++k) {
    cases::Array rounded(Dtype::float16, 1);
    rounded.set(0, expected.output.get(k));
    ASSERT_EQ(stored.output.get(k), rounded.get(0)) << "float16 output is float32 output, rounded once";
  }
}

/// A [B, heads, length, width] array brought from one layout into another.
cases::Array rearranged(const cases::Array& array, std::int64_t heads, std::int64_t length, std::int64_t width,
                        Layout from, Layout to) {
  cases::Array other(array.dtype(), array.size());
  const std::int64_t batch_size = array.size() / (heads * length * width);
  for (std::int64_t b = 0; b < batch_size; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t s = 0; s < length; ++s)
        for (std::int64_t w = 0; w < width; ++w)
          other.set(reference::element_index(to, heads, length, width, b, h, s, w),
                    array.get(reference::element_index(from, heads, length, width, b, h, s, w)));
  return other;
}

// The column form V softmax(K'Q / sqrt(d)) is the row form on transposed data.
TEST(Layouts, AllGiveTheSameBitsOnTheSameNumbers) {
  cases::Case rows = random_case({2, 4, 2, 33, 65, 12, 9}, 902);
  const AttentionShape& s = rows.shape;
  rows.scalars.causal = Causal::lower_right;
  rows.returns = everything();
  const cases::Results expected = compute(rows);
  for (const Layout layout : {Layout::bshd, Layout::bse, Layout::bes}) {
    cases::Case call = rows;
    call.scalars.layout = layout;
    call.query = rearranged(rows.query, s.num_heads, s.query_length, s.head_dim, Layout::bhsd, layout);
    call.key = rearranged(rows.key, s.num_kv_heads, s.key_length, s.head_dim, Layout::bhsd, layout);
    call.value = rearranged(rows.value, s.num_kv_heads, s.key_length, s.value_dim, Layout::bhsd, layout);
    cases::Results results = compute(call);
    results.output = rearranged(results.output, s.num_heads, s.query_length, s.value_dim, layout, Layout::bhsd);
    EXPECT_EQ(results.bits(), expected.bits()) << "layout " << static_cast<int>(layout);
  }
}

TEST(Layouts, OfKeysAndValuesMayDifferFromThatOfQueries) {
  cases::Case rows = random_case({2, 4, 2, 7, 65, 12, 9}, 903);
  const AttentionShape& s = rows.shape;
  rows.scalars.causal = Causal::lower_right;
  rows.returns = everything();
  const cases::Results expected = compute(rows);
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::bse, Layout::bes})
    for (const Layout kv_layout : {Layout::bhsd, Layout::bshd, Layout::bse, Layout::bes}) {
      cases::Case call = rows;
      call.scalars.layout = layout;
      call.scalars.kv_layout = kv_layout;
      call.query = rearranged(rows.query, s.num_heads, s.query_length, s.head_dim, Layout::bhsd, layout);
      call.key = rearranged(rows.key, s.num_kv_heads, s.key_length, s.head_dim, Layout::bhsd, kv_layout);
      call.value = rearranged(rows.value, s.num_kv_heads, s.key_length, s.value_dim, Layout::bhsd, kv_layout);
      cases::Results results = compute(call);
      results.output = rearranged(results.output, s.num_heads, s.query_length, s.value_dim, layout, Layout::bhsd);
      EXPECT_EQ(results.bits(), expected.bits()) << static_cast<int>(layout) << " and " << static_cast<int>(kv_layout);
    }
}

// Scores of up to some hundreds: roundings that differ between attention and inspection would show in the sum.
TEST(Probs, SumToOneForEveryNumberOfRowsWhereScoresAreLarge) {
  for (const std::int64_t rows : {1, 3, 7, 8, 15, 16, 17, 70}) {
    for (const Layout layout : {Layout::bhsd, Layout::bes}) {
      cases::Case call = random_case({1, 1, 1, rows, 100, 64, 8}, 77);
      call.scalars.scale = 40.0f;
      call.scalars.layout = layout;
      call.returns = everything();
      const cases::Results results = compute(call);
      for (std::int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < 100; ++j) sum += results.probs[i * 100 + j];
        EXPECT_NEAR(sum, 1.0, 16 * tolerance::kEpsilon) << "row " << i << " of " << rows;
      }
    }
  }
}

// Without an output only the tiles of the chosen rows are computed.
TEST(Probs, OfChosenRowsAloneHaveTheBitsOfThoseOfAllRows) {
  cases::Case call = random_case({2, 4, 2, 300, 70, 8, 8}, 905);
  call.returns = {.output = false, .lse = false, .probs = cases::OwnedSelection{}};
  const cases::Results all = compute(call);
  const std::int64_t queries = call.shape.query_length, keys = call.shape.key_length;
  for (const std::vector<std::int32_t>& rows : {std::vector<std::int32_t>{299, 3}, {}})
    for (const std::vector<std::int32_t>& heads : {std::vector<std::int32_t>{3}, {}}) {
      if (rows.empty() && heads.empty()) continue;
      call.returns.probs = cases::OwnedSelection{heads, rows};
      const std::vector<std::int32_t> chosen_heads = call.returns.probs->chosen_heads(call.shape),
                                      chosen_rows = call.returns.probs->chosen_queries(call.shape);
      const cases::Results chosen = compute(call);
      auto at = chosen.probs.begin();
      for (std::int64_t b = 0; b < call.shape.batch_size; ++b)
        for (const std::int32_t h : chosen_heads)
          for (const std::int32_t i : chosen_rows) {
            const auto row = all.probs.begin() + ((b * call.shape.num_heads + h) * queries + i) * keys;
            EXPECT_TRUE(std::equal(row, row + keys, at)) << b << " " << h << " " << i;
            at += keys;
          }
      EXPECT_EQ(at, chosen.probs.end());
    }
}

/// The contract's bound to the letter, where the score's own error is next to nothing: p and o err by 16 eps and by the
/// rounding of m - s, whatever takes the rest of the weight.
void expect_small_shares_to_be_exact(const cases::Case& call) {
  const std::vector<reference::Head> expected = reference::attention(call.shape, call.inputs(), call.options());
  for (const KernelTable* table : kernel_tables()) {
    SCOPED_TRACE(table->name);
    const UsingKernels kernels(*table);
    const cases::Results results = compute(call);
    expect_near_reference(call, results);
    double worst = 0;  // error of a probability, in bounds
    for (std::int64_t h = 0; h < call.shape.num_heads; ++h) {
      const reference::Head& head = expected[static_cast<std::size_t>(h)];
      const double d = tolerance::HeadBounds(head, call.shape.head_dim, 0).row(0);
      const double m = head.biased.row(0).maxCoeff();
      for (std::int64_t j = 0; j < call.shape.key_length; ++j) {
        const double relative = 2 * d + (16 + m - head.biased(0, j)) * tolerance::kEpsilon;
        const double error = std::abs(results.probs[h * call.shape.key_length + j] - head.probs(0, j));
        worst = std::max(worst, error / (relative * head.probs(0, j) + tolerance::kFlushed));
      }
    }
    EXPECT_LE(worst, 1);
  }
}

TEST(Sinks, ThatDominateLeaveWhatRemainsExact) {
  for (const std::int64_t keys : {1, 3, 2000}) {  // 2000: in splits
    cases::Case call = random_case({1, 400, 400, 1, keys, 1, 2}, 904);
    for (std::int64_t n = 0; n < call.key.size(); ++n) call.key.set(n, 0.006 * call.key.get(n));
    for (int h = 0; h < 400; ++h) call.sinks.push_back(static_cast<float>(h) / 4.0f - 10.0f);  // -10 … 89.75
    call.returns = everything();
    expect_small_shares_to_be_exact(call);
  }
}

/// One query row of two features against three keys. The values are 1, 2 and 4.
cases::Case three_keys(std::int64_t rows, float scale, std::array<float, 2> query, std::array<float, 6> key) {
  cases::Case call = random_case({1, 1, 1, rows, 3, 2, 1}, 908);
  call.scalars.scale = scale;
  for (std::int64_t i = 0; i < rows; ++i)
    for (int d = 0; d < 2; ++d) call.query.set(2 * i + d, query[d]);
  for (int n = 0; n < 6; ++n) call.key.set(n, key[n]);
  for (int j = 0; j < 3; ++j) call.value.set(j, 1 << j);
  call.returns = everything(ScoreStage::raw);
  return call;
}

constexpr float kLargest = std::numeric_limits<float>::max();

TEST(Scale, OfAnySizeGivesEveryScoreThatFloat32Holds) {
  for (const std::int64_t rows : {1, 20})
    for (const float scale : {2.0f, 1e20f, 1e38f, kLargest, -kLargest}) {
      // The scale times a query, or times a part of the product, is beyond float32.
      const cases::Case calls[] = {three_keys(rows, scale, {5, -5}, {1e-3f, 0, 0, 2e-3f, -3e-3f, 4e-3f}),
                                   three_keys(rows, scale, {3, 3}, {1, -1, 0.5f, -0.5f, 0.25f, -0.25f}),
                                   three_keys(rows, scale, {0, 7}, {1, 0, -1, 0, 0, 0})};
      for (const cases::Case& call : calls)
        for (const KernelTable* table : kernel_tables()) {
          SCOPED_TRACE(table->name);
          const UsingKernels kernels(*table);
          expect_near_reference(call, compute(call));
        }
    }
}

TEST(Scores, BeyondFloat32PoisonTheirRowOrWeighNothing) {
  for (const std::int64_t rows : {1, 20})
    for (const KernelTable* table : kernel_tables()) {
      SCOPED_TRACE(table->name);
      const UsingKernels kernels(*table);
      const cases::Results above = compute(three_keys(rows, kLargest, {2, 1}, {1, 1, 0, 0, -1, -1}));
      const cases::Results below = compute(three_keys(rows, kLargest, {2, 1}, {0, 0, 0, 0, -1, -1}));
      cases::Case capped = three_keys(rows, kLargest, {2, 1}, {1, 1, 0, 0, -1, -1});
      capped.scalars.softcap = 2.0f;
      const cases::Results between = compute(capped);
      for (std::int64_t i = 0; i < rows; ++i) {
        EXPECT_TRUE(std::isnan(above.output.get(i)));
        EXPECT_EQ(below.output.get(i), 1.5);
        EXPECT_EQ(below.scores[3 * i + 2], -std::numeric_limits<float>::infinity());
        EXPECT_NEAR(between.output.get(i), (std::exp(2) + 2 + 4 * std::exp(-2)) / (std::exp(2) + 1 + std::exp(-2)),
                    1e-6);
      }
    }
}

// With every instruction set some of these lengths leave one key for the last split.
TEST(Splits, SeeTheLastKeyWhereItIsAlone) {
  for (std::int64_t keys = 15 * 512 + 1; keys <= 48 * 512 + 1; keys += 512) {
    cases::Case call = random_case({1, 1, 1, 1, keys, 1, 1}, 907);
    call.query.set(0, 0.0);
    for (std::int64_t j = 0; j < keys; ++j) call.value.set(j, j == keys - 1 ? 1.0 : 0.0);
    ASSERT_NEAR(compute(call).output.get(0), 1.0 / static_cast<double>(keys), 1e-9) << keys;
  }
}

TEST(Sinks, OfAnySizeAreTakenIn) {
  cases::Case call = random_case({1, 4, 4, 3, 5, 4, 2}, 905);
  call.sinks = {kLargest, -kLargest, 1e30f, 120.0f};
  call.returns = everything();
  const cases::Results results = compute(call);
  expect_near_reference(call, results);
  EXPECT_EQ(results.lse[0], kLargest);
}

TEST(Bias, ThatDominatesCostsTheOthersTheRoundingOfTheirDistance) {
  cases::Case call = random_case({1, 100, 100, 1, 2, 1, 1}, 906);
  for (std::int64_t n = 0; n < call.query.size(); ++n) call.query.set(n, 0);  // the bias alone is the score
  call.bias = cases::Array(Dtype::float32, 200);
  call.bias_extents = {{1, 100, 1, 2}};
  for (int h = 0; h < 100; ++h) {
    call.bias->set(2 * h, 0.8 * h);
    call.bias->set(2 * h + 1, 0.006);
    call.value.set(2 * h, 0);
  }
  call.returns = everything();
  expect_small_shares_to_be_exact(call);
}

TEST(Window, AsWideAsANumberCanBeHidesNothing) {
  cases::Case open = random_case({2, 2, 2, 9, 20, 8, 8}, 903), wide = open;
  open.query_offset =
      wide.query_offset = {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  wide.scalars.window_left = wide.scalars.window_right = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(compute(wide).bits(), compute(open).bits());
}

}  // namespace headwise::test_attention
