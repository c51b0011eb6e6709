// Random sequences of operations on caches and their forks, against what a list of positions would do.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "kv_cache_model.h"

namespace headwise::test_kv_cache_model {

constexpr int kSequences = 80, kOperations = 40;

TEST(KvCacheModel, RandomOperationsOnACacheAndItsForksMatchLists) {
  for (std::uint32_t seed = 0; seed < kSequences; ++seed) {
    std::mt19937 random(seed);
    KvCacheModel model(
        [&](std::int64_t most) { return static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(most) + 1)); },
        seed);
    for (int n = 0; n < kOperations; ++n) {
      model.step("seed " + std::to_string(seed) + ", operation " + std::to_string(n));
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

}  // namespace headwise::test_kv_cache_model
