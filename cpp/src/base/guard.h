#pragma once

#include <cstdint>

// With the address sanitizer a gap lies behind each array that shares a piece of memory with others, and whoever reads
// or writes there is found. Without it there are no gaps.

#if defined(__SANITIZE_ADDRESS__)
#define HEADWISE_GUARDS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEADWISE_GUARDS 1
#endif
#endif

#ifdef HEADWISE_GUARDS
#include <sanitizer/asan_interface.h>
#endif

namespace headwise {

#ifdef HEADWISE_GUARDS
inline constexpr std::int64_t kGuardBytes = 64;
/// Opens an array, which an earlier use of the memory may have had a gap in, and closes the gap behind it.
inline void guard(char* array, std::int64_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(array, static_cast<std::size_t>(bytes));
  ASAN_POISON_MEMORY_REGION(array + bytes, static_cast<std::size_t>(kGuardBytes));
}
#else
inline constexpr std::int64_t kGuardBytes = 0;
inline void guard(char*, std::int64_t) {}
#endif

}  // namespace headwise
