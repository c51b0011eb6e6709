#include "base/workspace.h"

#include <cstdlib>

namespace headwise {

namespace {
AllocationGate allocation_gate = nullptr;
ReleaseWatch release_watch = nullptr;
constexpr std::size_t kAlignment = 64;
}  // namespace

void* allocate_bytes(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() - kAlignment) return nullptr;
  if (allocation_gate && !allocation_gate(bytes)) return nullptr;
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return std::aligned_alloc(kAlignment, rounded ? rounded : kAlignment);
}

void free_bytes(void* pointer) {
  if (pointer && release_watch) release_watch();
  std::free(pointer);
}

void set_allocation_gate(AllocationGate gate, ReleaseWatch watch) { allocation_gate = gate, release_watch = watch; }

}  // namespace headwise
