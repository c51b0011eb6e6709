#pragma once

#include <cstdint>

namespace headwise {

/// sums[c] = sums[c] * scales[c] + bias[c]: the end of a product with int8, whose sums began with 0. A null bias is 0.
inline void scale_sums(const float* scales, const float* bias, std::int64_t columns, float* sums) {
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = sums[c] * scales[c] + (bias ? bias[c] : 0.0f);
}

}  // namespace headwise
