#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "cases.h"
#include "headwise/thread_pool.h"
#include "kernel/kernel_table.h"

namespace headwise {

/// A pool of `threads` workers, 1 to 4, kept for the whole run.
[[nodiscard]] ThreadPool& pool_of(int threads);

/// Every kernel table this machine runs.
[[nodiscard]] std::vector<const KernelTable*> kernel_tables();

/// Makes the core compute with `table` while it lives.
class UsingKernels {
 public:
  explicit UsingKernels(const KernelTable& table) { use_kernel_table(&table); }
  ~UsingKernels() { use_kernel_table(nullptr); }
  UsingKernels(const UsingKernels&) = delete;
  UsingKernels& operator=(const UsingKernels&) = delete;
};

/// How many of `usual` random inputs a test takes: that number divided by HEADWISE_FEWER, if the environment has it.
/// The stages with sanitizers set it: they look for other defects than wrong numbers, and take ten times as long.
[[nodiscard]] std::uint32_t some_of(std::uint32_t usual);

/// Computes a case and fails the running test if that is refused.
[[nodiscard]] cases::Results compute(const cases::Case& call, int threads = 1);
[[nodiscard]] cases::Results compute(const cases::Case& call, const AttentionInputs& inputs, int threads = 1);

/// All that a call can return, for every head and query.
[[nodiscard]] cases::Returns everything(ScoreStage stage = ScoreStage::biased, std::int64_t k = 3);

/// Names of parametrised tests, in a form that GoogleTest takes: for an index into the table, and for a name in it.
[[nodiscard]] std::string case_at(const testing::TestParamInfo<std::size_t>& info);
[[nodiscard]] std::string case_named(const testing::TestParamInfo<std::string>& info);

/// A case of random inputs: no options, float32, BHSD.
[[nodiscard]] cases::Case random_case(const AttentionShape& shape, std::uint32_t seed);

}  // namespace headwise
