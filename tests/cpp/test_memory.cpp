// Memory that is not to be had is a status, and scratch stays small.

#include "allocations.h"
#include "harness.h"
#include "headwise/kv_cache.h"
#include "refusals.h"

namespace headwise::test_memory {

class OutOfMemory : public testing::TestWithParam<std::string> {};

TEST_P(OutOfMemory, IsAStatusAtEveryAllocationAndLeavesNoTrace) {
  const cases::Case& call = cases::named(GetParam());
  const std::vector<std::uint8_t> good = compute(call, 2).bits();
  cases::Results results(call.shape, call.returns, call.dtype);
  const std::vector<std::uint8_t> before = results.bits();
  const auto attempt = [&] { return attention(pool_of(2), call.shape, call.inputs(), call.options(), results.view()); };
  const auto look = [&] {
    EXPECT_EQ(results.bits(), before) << "an output was written";
    EXPECT_EQ(compute(call, 2).bits(), good);
  };
  EXPECT_GT(refuse_each_request(attempt, look), 0);
  EXPECT_EQ(results.bits(), good);
}

INSTANTIATE_TEST_SUITE_P(Table, OutOfMemory,
                         testing::Values("size-square-65", "decode-5000-keys-8-over-2", "ragged-BSHD-causal",
                                         "returns-everything", "returns-top-average", "together-5-uniform",
                                         "mask-and-bias"),
                         case_named);

/// Scratch of a call, run on 4 workers.
std::int64_t scratch_bytes(const cases::Case& call) {
  const Allocations counting;
  (void)compute(call, 4);
  return counting.total_bytes();
}

// A score matrix of this call would take 1 GiB.
TEST(Scratch, StaysBelow64MiBAtSixteenThousandTokensWithEverythingLookedInto) {
  cases::Case call = random_case({1, 1, 1, 16384, 16384, 4, 4}, 801);
  call.scalars.causal = Causal::lower_right;
  call.scalars.window_left = 200;  // keeps the time down; the scratch must not know
  call.returns.entropy = true;
  call.returns.probs = cases::OwnedSelection{{0}, {0, 8000, 16383}, false};
  call.returns.top_k = cases::OwnedSelection{{}, {1, 2, 3}, true};
  call.returns.k = 8;
  EXPECT_LE(scratch_bytes(call), std::int64_t{64} << 20);
}

TEST(Scratch, StaysBelow64MiBForOneQueryOverThirtyTwoThousandKeys) {
  cases::Case call = random_case({1, 8, 1, 1, 32768, 64, 64}, 802);
  call.returns = everything();
  EXPECT_LE(scratch_bytes(call), std::int64_t{64} << 20);
}

TEST(Scratch, DoesNotGrowWithTheBatch) {
  const auto bytes = [](std::int64_t batch) { return scratch_bytes(random_case({batch, 4, 4, 70, 300, 16, 16}, 803)); };
  EXPECT_LE(bytes(16), bytes(1) + 16 * 1024);  // but for a few words a batch
}

// A tile of all 4,000 rows would take eight times as much as one of all 500.
TEST(Scratch, DoesNotGrowWithTheLengthOfThePrompt) {
  const auto bytes = [](std::int64_t rows) { return scratch_bytes(random_case({1, 1, 1, rows, 300, 16, 16}, 804)); };
  EXPECT_LE(bytes(4000), 2 * bytes(500));
}

}  // namespace headwise::test_memory
