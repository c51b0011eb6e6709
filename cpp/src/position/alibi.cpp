#include <cmath>

#include "headwise/position.h"

namespace headwise {

namespace {

/// Slope h of n heads, n a power of two: 2^(-8 (h + 1) / n).
float power_of_two_slope(std::int64_t h, std::int64_t n) {
  return static_cast<float>(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(n)));
}

}  // namespace

void alibi_slopes(std::int64_t num_heads, float* slopes) {
  std::int64_t power = 1;
  while (power <= num_heads / 2) power *= 2;
  for (std::int64_t h = 0; h < num_heads; ++h)
    slopes[h] = h < power ? power_of_two_slope(h, power) : power_of_two_slope(2 * (h - power), 2 * power);
}

}  // namespace headwise
