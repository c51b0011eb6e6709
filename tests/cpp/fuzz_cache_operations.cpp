// libFuzzer target: any bytes become a sequence of operations on a cache and its forks. After each of them every cache
// must hold what a list of positions says.
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   build/fuzz/tests/cpp/fuzz_cache_operations -max_total_time=60 build/corpus/fuzz_cache_operations

#include <string>

#include "fuzz_target.h"
#include "kv_cache_model.h"

namespace headwise {

void fuzz(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider bytes(data, size);
  const Upto upto = [&](std::int64_t most) { return bytes.ConsumeIntegralInRange<std::int64_t>(0, most); };
  KvCacheModel model(upto, 1);
  for (int n = 0; n < 16 && bytes.remaining_bytes() > 0; ++n) model.step("operation " + std::to_string(n));
}

}  // namespace headwise
