// libFuzzer target: any bytes, with their checksum made right, are loaded as a cache. What is refused builds nothing;
// what is accepted must save as the same bytes again. Only version 1 of int8 is saved as version 2, which then must.
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   build/fuzz/tests/cpp/fuzz_kv_cache -max_total_time=60 build/corpus/fuzz_kv_cache

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/checksum.h"
#include "base/memory.h"
#include "fuzz_target.h"
#include "headwise/kv_cache.h"

namespace headwise {
namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "fuzz_kv_cache: %s\n", what);
  std::abort();
}

std::vector<std::uint8_t> saved(const KvCache& cache) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(cache.saved_size()));
  if (const Status status = cache.save(bytes.data(), cache.saved_size()); !status.ok()) fail(status.message().text);
  return bytes;
}

Status loaded(const std::vector<std::uint8_t>& bytes, std::unique_ptr<KvCache>* cache) {
  return KvCache::load(bytes.data(), static_cast<std::int64_t>(bytes.size()), cache);
}

/// Whether the file has a version that is read, but no longer written.
bool is_old(const std::vector<std::uint8_t>& bytes, const KvCache& cache) {
  constexpr std::size_t kVersionAt = 8;
  return cache.shape().dtype == Dtype::int8 && bytes[kVersionAt] == 1;
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
  const Status status = loaded(bytes, &cache);
  if (!status.ok()) {
    if (cache) fail("bytes were refused and a cache was built");
    if (status.code != StatusCode::corrupt_data && status.code != StatusCode::out_of_memory)
      fail(status.message().text);
    return;
  }
  const std::vector<std::uint8_t> again = saved(*cache);
  if (!is_old(bytes, *cache)) {
    if (again != bytes) fail("the cache saves as other bytes");
    return;
  }
  std::unique_ptr<KvCache> twin;
  if (const Status status_of_new = loaded(again, &twin); !status_of_new.ok()) {
    if (status_of_new.code != StatusCode::out_of_memory) fail(status_of_new.message().text);
    return;
  }
  if (saved(*twin) != again) fail("an old file does not become one that stays as it is");
}

}  // namespace headwise
