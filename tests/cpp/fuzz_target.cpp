#include "fuzz_target.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "harness.h"

namespace headwise {

extern const KernelTable kernel_table_scalar;

std::vector<const KernelTable*> fuzzed_kernel_tables() {
  std::vector<const KernelTable*> tables = kernel_tables();
  tables.push_back(&kernel_table_scalar);
  return tables;
}

}  // namespace headwise

namespace {

/// libFuzzer keeps an input that aborts. It would lose one that ends in a debugger's trap, GoogleTest's
/// break_on_failure.
class AbortOnFailure : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed()) std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  testing::UnitTest::GetInstance()->listeners().Append(new AbortOnFailure);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headwise::fuzz(data, size);
  return 0;
}
