#include "layer/byte_product.h"

#include <cmath>
#include <cstdint>

namespace headwise {

namespace {

/// Adds what FixedPoint leaves out.
void add_infinities(const float* x, std::int64_t count, const RowRun& weight, float* y) {
  const auto* const data = static_cast<const std::int8_t*>(weight.data);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t o = 0; !std::isfinite(x[i]) && o < weight.count; ++o)
      y[o] += x[i] * static_cast<float>(data[o * weight.row_stride + i]);
}

}  // namespace

void multiply_row_by_bytes(const KernelTable& kernels, const float* x, const FixedPoint& fixed, const RowRun& weight,
                           float* y) {
  kernels.multiply_bytes(fixed, weight, y);
  if (!fixed.is_finite) add_infinities(x, fixed.count, weight, y);
}

}  // namespace headwise
