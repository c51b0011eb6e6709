#pragma once

#include <bit>
#include <cstdint>

namespace headwise {

/// Whether no value is NaN or infinite.
[[nodiscard]] inline bool all_finite(const float* values, std::int64_t count) {
  constexpr std::uint32_t kExponent = 0x7f800000u;
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found |= (std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent;
  return found == 0;
}

}  // namespace headwise
