#pragma once

#include <cstdint>

namespace headwise {

inline constexpr std::int64_t kFloatBytes = sizeof(float);
/// Where parts of a block of memory begin, in bytes: at a cache line.
inline constexpr std::int64_t kAlignment = 64;

/// a * b, or false when the product leaves int64. Both must be >= 0.
[[nodiscard]] inline bool multiply_sizes(std::int64_t a, std::int64_t b, std::int64_t* product) {
  return !__builtin_mul_overflow(a, b, product);
}

/// value / step, rounded up.
[[nodiscard]] constexpr std::int64_t divide_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step;
}

/// The next multiple of `step` that is not below `value`.
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return divide_up(value, step) * step;
}

}  // namespace headwise
