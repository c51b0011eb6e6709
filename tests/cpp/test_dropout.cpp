// Dropout: the random words are those of Random123, which weights are dropped depends on seed and indices alone, and
// everything else is as without it.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/philox.h"
#include "expectations.h"
#include "gradients.h"
#include "harness.h"

namespace headwise::test_dropout {

using cases::Case;
using cases::Results;
using Words = std::array<std::uint32_t, 4>;

// The known answers of philox4x32 with 10 rounds in Random123's kat_vectors.
TEST(Philox, HasTheKnownAnswersOfRandom123) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

Case dropping(Case call, double rate = 0.25, std::uint64_t seed = 0x0012'3456'89ab'cdef) {
  call.scalars.dropout = {rate, seed};
  return call;
}

Case usual_case() { return random_case({2, 4, 2, 37, 53, 16, 24}, 7); }

/// Which weights of the call are not 0.
std::vector<bool> kept(const Results& results) {
  std::vector<bool> mask;
  for (const float p : results.probs) mask.push_back(p != 0.0f);
  return mask;
}

/// Shapes of every way through the core: rows read in place, packed, split keys, several tiles, ragged.
std::vector<Case> cases_of_every_way() {
  std::vector<Case> all = {usual_case(), random_case({1, 2, 1, 1, 70, 8, 8}, 1),
                           random_case({2, 2, 2, 5, 1300, 8, 8}, 2), random_case({1, 1, 1, 40, 1300, 8, 8}, 3),
                           random_case({1, 3, 1, 300, 290, 8, 4}, 4)};
  all.push_back(usual_case());
  all.back().scalars.causal = Causal::lower_right;
  all.back().scalars.softcap = 2.0f;
  all.back().sinks = {0.5f, -1.0f, 0.0f, 2.0f};
  all.back().head_gain = {1.5f, -1.0f, 0.0f, 2.0f};
  all.back().alibi_slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  for (const char* name : {"ragged-BSHD-causal", "ragged-BSHD-empty-uniform", "ragged-BSHD-half"})
    all.push_back(cases::named(name));
  for (Case& call : all) call = dropping(call), call.returns = everything();
  return all;
}

TEST(Dropout, AgreesWithTheReference) {
  for (const Case& call : cases_of_every_way()) {
    SCOPED_TRACE(testing::Message() << call.name << " " << call.shape.query_length << " x " << call.shape.key_length);
    expect_near_reference(call, compute(call));
  }
}

TEST(Dropout, HasTheSameBitsForEveryNumberOfThreadsAndDropsTheSameWithEveryInstructionSet) {
  for (const Case& call : cases_of_every_way()) {
    const Results alone = compute(call);
    EXPECT_EQ(alone.bits(), compute(call, 3).bits());
    for (const KernelTable* table : kernel_tables()) {
      const UsingKernels using_kernels(*table);
      EXPECT_EQ(kept(compute(call)), kept(alone));
    }
  }
}

TEST(Dropout, OfRateZeroChangesNoBit) {
  Case plain = usual_case();
  plain.returns = everything();
  EXPECT_EQ(compute(dropping(plain, 0.0)).bits(), compute(plain).bits());
}

TEST(Dropout, OfRateOneGivesZeros) {
  Case call = dropping(usual_case(), 1.0);
  call.returns = everything();
  const Results results = compute(call);
  for (std::int64_t k = 0; k < results.output.size(); ++k) ASSERT_EQ(results.output.get(k), 0.0);
  for (const float p : results.probs) ASSERT_EQ(p, 0.0f);
  expect_near_reference(call, results);
}

// With this seed key 1 has the largest word of all, the only one that is not below what a rate of 1 drops.
TEST(Dropout, OfRateOneDropsTheLargestWordToo) {
  constexpr std::uint64_t kSeed = 454'088'803;
  ASSERT_EQ(philox({0, 0, 0, 0}, {kSeed, 0})[1], 0xffffffff);
  const Results results = compute(dropping(random_case({1, 1, 1, 1, 4, 4, 4}, 8), 1.0, kSeed));
  for (std::int64_t k = 0; k < results.output.size(); ++k) EXPECT_EQ(results.output.get(k), 0.0);
}

TEST(Dropout, LeavesLseEntropyAndScoresAsTheyAre) {
  for (const Case& call : cases_of_every_way()) {
    const Results with = compute(call), without = compute(dropping(call, 0.0));
    ASSERT_EQ(with.lse, without.lse);
    ASSERT_EQ(with.entropy, without.entropy);
    ASSERT_EQ(with.scores, without.scores);
  }
}

TEST(Dropout, ChangesWithEachHalfOfTheSeed) {
  Case call = usual_case();
  call.returns = everything();
  const auto kept_of = [&](std::uint64_t seed) { return kept(compute(dropping(call, 0.5, seed))); };
  const std::vector<bool> mask = kept_of(5);
  EXPECT_EQ(mask, kept_of(5));
  EXPECT_NE(mask, kept_of(6));
  EXPECT_NE(mask, kept_of(5 + (std::uint64_t{1} << 32)));
}

/// Sequence n of a packed batch is batch n of a padded one.
TEST(Dropout, OfAPackedBatchIsThatOfThePaddedOne) {
  const std::vector<std::int32_t> starts = {0, 9, 9, 30};
  Case packed = dropping(random_case({1, 2, 2, 30, 30, 8, 8}, 11), 0.5), padded = dropping(packed, 0.5);
  packed.scalars.layout = padded.scalars.layout = Layout::bshd;
  packed.cu_seq_lens_query = packed.cu_seq_lens_key = starts;
  padded.shape.batch_size = 3, padded.shape.query_length = padded.shape.key_length = 21;
  for (auto array : {&Case::query, &Case::key, &Case::value}) {
    const std::int64_t row = 2 * 8;
    (padded.*array) = cases::Array(Dtype::float32, 3 * 21 * row);
    for (std::int64_t n = 0; n < 3; ++n)
      for (std::int64_t k = 0; k < 21 * row; ++k) {
        const bool exists = k < (starts[n + 1] - starts[n]) * row;
        (padded.*array).set(n * 21 * row + k, exists ? (packed.*array).get(starts[n] * row + k) : 0.0);
      }
  }
  padded.query_lengths = padded.key_lengths = {9, 0, 21};
  packed.returns = padded.returns = everything();
  const Results together = compute(packed), apart = compute(padded);
  for (std::int64_t n = 0; n < 3; ++n)
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t i = starts[n]; i < starts[n + 1]; ++i)
        for (std::int64_t j = starts[n]; j < starts[n + 1]; ++j)
          ASSERT_EQ(together.probs[(h * 30 + i) * 30 + j] == 0.0f,
                    apart.probs[((n * 2 + h) * 21 + i - starts[n]) * 21 + j - starts[n]] == 0.0f);
}

TEST(Dropout, GradientsAgreeWithTheReference) {
  for (const Case& call : cases_of_every_way()) {
    SCOPED_TRACE(testing::Message() << call.name << " " << call.shape.query_length << " x " << call.shape.key_length);
    gradients::Problem problem = gradients::problem_of(call);
    problem.lse_gradient = cases::random_array(
        Dtype::float32, call.shape.batch_size * call.shape.num_heads * call.shape.query_length, 5, 6, 1);
    const gradients::Call backward(call, problem);
    const gradients::Results results = gradients::compute(backward);
    gradients::expect_near_reference(backward, results);
    EXPECT_EQ(results.bits(), gradients::compute(backward, 3).bits());
  }
}

TEST(Dropout, OfRateZeroChangesNoBitOfAGradient) {
  const Case plain = usual_case(), call = dropping(plain, 0.0);
  const gradients::Problem problem = gradients::problem_of(plain);
  EXPECT_EQ(gradients::compute({call, problem}).bits(), gradients::compute({plain, problem}).bits());
}

TEST(Dropout, OfRateOneGivesNoGradient) {
  const Case call = dropping(usual_case(), 1.0);
  gradients::Problem problem = gradients::problem_of(call);
  problem.lse_gradient.reset();
  const gradients::Results results = gradients::compute({call, problem});
  for (const std::vector<float>* gradient : {&results.query, &results.key, &results.value, &results.head_gain})
    for (const float x : *gradient) ASSERT_EQ(x, 0.0f);
}

TEST(Dropout, IsRightOnAverage) {
  Case call = random_case({1, 1, 1, 4, 40, 8, 2}, 13);
  const Results without = compute(call);
  constexpr int kSeeds = 400;
  const std::int64_t size = without.output.size();
  std::vector<double> sum(size), squares(size);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Results with = compute(dropping(call, 0.3, seed));
    for (std::int64_t k = 0; k < size; ++k) {
      const double difference = with.output.get(k) - without.output.get(k);
      sum[k] += difference, squares[k] += difference * difference;
    }
  }
  for (std::int64_t k = 0; k < size; ++k)
    EXPECT_LE(std::abs(sum[k]), 3 * std::sqrt(squares[k])) << k;  // mean <= 3 sqrt(variance / seeds)
}

TEST(Dropout, RefusesWhatItDoesNotGoWith) {
  const auto status_of = [](const Case& call, const AttentionInputs& inputs) {
    Results results(call.shape, call.returns, call.dtype);
    const AttentionOptions options = call.options();
    return attention(pool_of(1), call.shape, inputs, options, results.view());
  };
  for (const double rate : {-0.1, 1.5, static_cast<double>(NAN)}) {
    const Case call = dropping(usual_case(), rate);
    EXPECT_EQ(status_of(call, call.inputs()).code, StatusCode::invalid_option);
  }
  const Case call = dropping(usual_case());
  AttentionInputs patched = call.inputs();
  patched.probs.mean = true;
  EXPECT_EQ(status_of(call, patched).code, StatusCode::unsupported);
}

}  // namespace headwise::test_dropout
