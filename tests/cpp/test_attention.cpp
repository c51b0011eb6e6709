#include "headwise/attention.h"

#include "expectations.h"
#include "harness.h"

namespace headwise {
namespace {

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

}  // namespace
}  // namespace headwise
