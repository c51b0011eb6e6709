#include "base/memory.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace headwise {

namespace {

// Where pieces begin: at a cache line, which also suits the widest vectors.
constexpr std::size_t kAlign = 64;

AllocationGate allocation_gate = nullptr;
ReleaseWatch release_watch = nullptr;

}  // namespace

void* allocate_bytes(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() - kAlign) return nullptr;
  if (allocation_gate && !allocation_gate(bytes)) return nullptr;
  const std::size_t rounded = (bytes + kAlign - 1) / kAlign * kAlign;
  return std::aligned_alloc(kAlign, rounded ? rounded : kAlign);
}

Error Memory::allocate(std::int64_t count, std::int64_t element_bytes) {
  *this = Memory();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / element_bytes;
  const std::int64_t bytes = std::clamp<std::int64_t>(count, 0, most) * element_bytes;
  if (count >= 0 && count <= most && static_cast<std::uint64_t>(bytes) <= std::numeric_limits<std::size_t>::max())
    data_ = allocate_bytes(static_cast<std::size_t>(bytes));
  if (!data_) return out_of_memory(bytes);
  count_ = count;
  return {};
}

void free_bytes(void* pointer) {
  if (pointer && release_watch) release_watch();
  std::free(pointer);
}

void set_allocation_gate(AllocationGate gate, ReleaseWatch watch) { allocation_gate = gate, release_watch = watch; }

}  // namespace headwise
