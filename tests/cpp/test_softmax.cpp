// The online softmax: a row may come in any number of pieces.

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/softmax.h"
#include "harness.h"
#include "tolerance.h"

namespace headwise::test_softmax {

using tolerance::kEpsilon;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

class SoftmaxStep : public testing::TestWithParam<const KernelTable*> {
 protected:
  /// Pads with -inf to whole vectors, as callers must.
  float step(std::vector<float>& scores) {
    const std::size_t count = scores.size();
    scores.resize((count + kernels.lanes - 1) / kernels.lanes * kernels.lanes, -kInfinity);
    const float factor = kernels.softmax_step(scores.data(), static_cast<std::int64_t>(scores.size()), &maximum, &sum);
    scores.resize(count);
    return factor;
  }

  const KernelTable& kernels = *GetParam();
  float maximum = -kInfinity, sum = 0.0f;
};

TEST_P(SoftmaxStep, NothingVisibleKeepsFactorOneAndGivesWeightZero) {
  std::vector<float> scores(21, -kInfinity);
  EXPECT_EQ(step(scores), 1.0f);
  for (const float weight : scores) EXPECT_EQ(weight, 0.0f);
  EXPECT_EQ(maximum, -kInfinity);
  EXPECT_EQ(sum, 0.0f);
}

TEST_P(SoftmaxStep, TheFirstVisibleScoreScalesNothingBeforeIt) {
  std::vector<float> hidden(5, -kInfinity), scores = {-kInfinity, 3.0f, -kInfinity};
  step(hidden);
  step(scores);
  EXPECT_EQ(scores, (std::vector<float>{0.0f, 1.0f, 0.0f}));
  EXPECT_EQ(maximum, 3.0f);
  EXPECT_EQ(sum, 1.0f);
}

TEST_P(SoftmaxStep, ALowerPieceKeepsTheMaximumAndFactorOne) {
  std::vector<float> high = {5.0f}, low = {4.0f, -2.0f};
  step(high);
  EXPECT_EQ(step(low), 1.0f);
  EXPECT_EQ(maximum, 5.0f);
  EXPECT_NEAR(low[0], std::exp(-1.0), 4 * kEpsilon);
  EXPECT_NEAR(sum, 1 + std::exp(-1.0) + std::exp(-7.0), 8 * kEpsilon);
}

TEST_P(SoftmaxStep, PiecesOfAnySizeGiveTheSameSumAsTheWhole) {
  std::vector<float> all;
  for (std::uint32_t k = 0; k < 500; ++k)
    all.push_back(static_cast<float>(cases::word(3, 1, k) >> 8) * 0x1p-20f - 8.0f);  // -8 to 8
  double largest = all[0], exact = 0;
  for (const float s : all) largest = std::max<double>(largest, s);
  for (const float s : all) exact += std::exp(s - largest);
  for (const std::size_t piece : {1u, 7u, 16u, 100u, 500u}) {
    maximum = -kInfinity, sum = 0.0f;
    double accumulated = 0;
    for (std::size_t first = 0; first < all.size(); first += piece) {
      std::vector<float> scores(all.begin() + first, all.begin() + std::min(first + piece, all.size()));
      accumulated *= step(scores);
      for (const float weight : scores) accumulated += weight;
    }
    EXPECT_EQ(maximum, static_cast<float>(largest));
    // at most 500 additions and, while the maximum rises, as many rescalings; in practice far fewer round the same way
    EXPECT_NEAR(sum, exact, 64 * kEpsilon * exact) << "pieces of " << piece;
    EXPECT_NEAR(accumulated, exact, 64 * kEpsilon * exact) << "pieces of " << piece;
  }
}

TEST_P(SoftmaxStep, TheLowestFiniteScoreIsVisible) {
  constexpr float lowest = std::numeric_limits<float>::lowest();
  std::vector<float> scores = {lowest, -kInfinity, lowest};
  step(scores);
  EXPECT_EQ(scores, (std::vector<float>{1.0f, 0.0f, 1.0f}));
  EXPECT_EQ(maximum, lowest);
  EXPECT_EQ(sum, 2.0f);
}

TEST_P(SoftmaxStep, FiniteScoresWhoseSumOverflowsAreNotPoison) {
  constexpr float largest = std::numeric_limits<float>::max();
  std::vector<float> scores(40, largest);
  scores[3] = -largest;
  scores[4] = 0.0f;
  step(scores);
  EXPECT_EQ(scores[0], 1.0f);
  EXPECT_EQ(scores[3], 0.0f);
  EXPECT_EQ(sum, 38.0f);
}

TEST_P(SoftmaxStep, NaNAndPlusInfinityPoisonTheRowForGoodButNotItsHiddenKeys) {
  for (const float poison : {kNan, -kNan, kInfinity}) {
    for (std::size_t place = 0; place < 19; ++place) {
      maximum = -kInfinity, sum = 0.0f;
      std::vector<float> before = {1.0f}, scores(19, 0.5f), after = {2.0f, -kInfinity};
      scores[place] = poison;
      scores[(place + 1) % 19] = -kInfinity;
      step(before);
      EXPECT_TRUE(std::isnan(step(scores)));
      EXPECT_EQ(scores[(place + 1) % 19], 0.0f);
      EXPECT_TRUE(std::isnan(scores[(place + 2) % 19]));
      step(after);
      EXPECT_TRUE(std::isnan(maximum) && std::isnan(sum) && std::isnan(after[0]));
      EXPECT_EQ(after[1], 0.0f);
    }
  }
}

std::string table_name(const testing::TestParamInfo<const KernelTable*>& info) {
  return std::string(info.param->name) + info.param->block;
}

INSTANTIATE_TEST_SUITE_P(Tables, SoftmaxStep, testing::ValuesIn(kernel_tables()), table_name);

/// The statistics of some scores.
OnlineSoftmax statistics(const std::vector<float>& scores) {
  OnlineSoftmax softmax;
  for (const float s : scores) {
    softmax.raise(s);
    softmax.sum += std::exp(s - softmax.maximum);
    softmax.seen = true;
  }
  return softmax;
}

double log_sum_exp(const std::vector<float>& scores) {
  double sum = 0;
  for (const float s : scores) sum += std::exp(static_cast<double>(s));
  return std::log(sum);
}

TEST(OnlineSoftmax, NothingSeenHasALogSumOfMinusInfinity) {
  EXPECT_EQ(OnlineSoftmax().finish(-kInfinity).lse, -kInfinity);
}

TEST(OnlineSoftmax, MergingIsTheSameInBothOrders) {
  const std::vector<float> low = {-3.0f, 0.5f, 1.0f}, high = {4.0f, 2.0f};
  for (const bool swapped : {false, true}) {
    OnlineSoftmax softmax = statistics(swapped ? high : low);
    float kept, added;
    softmax.merge(statistics(swapped ? low : high), &kept, &added);
    EXPECT_NEAR(softmax.finish(-kInfinity).lse, log_sum_exp({-3.0f, 0.5f, 1.0f, 4.0f, 2.0f}), 16 * kEpsilon * 5);
    EXPECT_NEAR(kept, swapped ? 1.0 : std::exp(-3.0), 4 * kEpsilon);
    EXPECT_NEAR(added, swapped ? std::exp(-3.0) : 1.0, 4 * kEpsilon);
  }
}

TEST(OnlineSoftmax, MergingNothingChangesNothing) {
  OnlineSoftmax softmax = statistics({1.0f, 2.0f});
  const OnlineSoftmax before = softmax;
  float kept, added;
  softmax.merge(OnlineSoftmax(), &kept, &added);
  EXPECT_EQ(kept, 1.0f);
  EXPECT_EQ(softmax.finish(-kInfinity).lse, before.finish(-kInfinity).lse);
}

TEST(OnlineSoftmax, MergingIntoNothingTakesTheOther) {
  OnlineSoftmax softmax;
  float kept, added;
  softmax.merge(statistics({1.0f, 2.0f}), &kept, &added);
  EXPECT_TRUE(softmax.seen);
  EXPECT_EQ(added, 1.0f);
  EXPECT_EQ(softmax.finish(-kInfinity).lse, statistics({1.0f, 2.0f}).finish(-kInfinity).lse);
}

TEST(OnlineSoftmax, MergingAPoisonedPartPoisons) {
  OnlineSoftmax softmax = statistics({1.0f}), poisoned;
  poisoned.seen = true;
  poisoned.maximum = poisoned.sum = kNan;
  float kept, added;
  softmax.merge(poisoned, &kept, &added);
  EXPECT_TRUE(std::isnan(softmax.finish(-kInfinity).lse));
}

TEST(OnlineSoftmax, ASinkAddsItsExponentialAndNoKey) {
  for (const float sink : {-200.0f, -5.0f, 0.0f, 9.0f, 80.0f}) {
    const FinishedSoftmax row = statistics({1.0f, 2.0f}).finish(sink);
    const double expected = log_sum_exp({1.0f, 2.0f, sink});
    EXPECT_NEAR(row.lse, expected, 16 * kEpsilon * std::max(9.0f, sink));
    EXPECT_NEAR(row.share / std::exp(row.maximum - expected), 1, 8 * kEpsilon);
    EXPECT_TRUE(row.seen);
  }
  const FinishedSoftmax empty = OnlineSoftmax().finish(0.25f);
  EXPECT_FALSE(empty.seen);
  EXPECT_EQ(empty.lse, 0.25f);
}

TEST(OnlineSoftmax, ASinkBeyondEveryExponentLeavesNothing) {
  const FinishedSoftmax row = statistics({1.0f, 2.0f}).finish(std::numeric_limits<float>::max());
  EXPECT_EQ(row.share, 0.0f);
  EXPECT_EQ(row.lse, std::numeric_limits<float>::max());
  EXPECT_EQ(statistics({1.0f, 2.0f}).finish(-std::numeric_limits<float>::max()).share,
            statistics({1.0f, 2.0f}).finish(-kInfinity).share);
}

}  // namespace headwise::test_softmax
