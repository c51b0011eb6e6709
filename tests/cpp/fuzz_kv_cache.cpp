// libFuzzer target: any bytes, with their checksum made right, are loaded as a cache. What is refused builds nothing;
// what is accepted must save as the same bytes again.
//
//   cmake --preset asan && cmake --build build/asan --target fuzz_kv_cache
//   build/asan/tests/cpp/fuzz_kv_cache -max_total_time=60 build/corpus/fuzz_kv_cache

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/checksum.h"
#include "base/workspace.h"
#include "fuzz_target.h"
#include "headwise/kv_cache.h"

namespace headwise {
namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "fuzz_kv_cache: %s\n", what);
  std::abort();
}

}  // namespace

void fuzz(const std::uint8_t* data, std::size_t size) {
  // A header may rightly tell of a cache that this machine has no room for. 4 MiB keep an input fast.
  set_allocation_gate([](std::size_t bytes) { return bytes < (std::size_t{1} << 22); });
  std::vector<std::uint8_t> bytes(data, data + size);
  bytes.resize(size + 4);
  const std::uint32_t checksum = crc32(bytes.data(), static_cast<std::int64_t>(size));
  std::memcpy(bytes.data() + size, &checksum, sizeof checksum);

  std::unique_ptr<KvCache> cache;
  const Status status = KvCache::load(bytes.data(), static_cast<std::int64_t>(bytes.size()), &cache);
  if (!status.ok()) {
    if (cache) fail("bytes were refused and a cache was built");
    if (status.code != StatusCode::corrupt_data && status.code != StatusCode::out_of_memory) fail(status.message);
    return;
  }
  if (cache->saved_size() != static_cast<std::int64_t>(bytes.size()))
    fail("the cache saves as another number of bytes");
  std::vector<std::uint8_t> again(bytes.size());
  if (const Status written = cache->save(again.data(), size + 4); !written.ok()) fail(written.message);
  if (again != bytes) fail("the cache saves as other bytes");
}

}  // namespace headwise
