#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/numbers.h"
#include "kernel/arch.h"
#include "kernel/row_run.h"

namespace headwise::kernels {
namespace {

/// Adds the products of a block of inputs, whose first is `first`, to the sums of kByteRows outputs. The products are
/// summed as whole numbers, without an error.
inline void add_block(const FixedPoint& x, std::int64_t first, const std::int8_t* const (&row)[kByteRows],
                      float (&sums)[kByteRows]) {
  const std::int64_t count = std::min(kFixedBlock, x.count - first);
  const std::int64_t whole = count / kByteColumns * kByteColumns;
  const std::int16_t* const factors[] = {x.high + first, x.low + first};
  const std::int8_t* bytes[kByteRows];
  for (int n = 0; n < kByteRows; ++n) bytes[n] = row[n] + first;
  std::int32_t products[2][kByteRows];
  dot_bytes(factors, bytes, whole, products);
  for (std::int64_t i = whole; i < count; ++i)
    for (int s = 0; s < 2; ++s)
      for (int n = 0; n < kByteRows; ++n) products[s][n] += std::int32_t{factors[s][i]} * bytes[n][i];
  const float unit = x.units[first / kFixedBlock], low_unit = unit * kFixedLow;
  for (int n = 0; n < kByteRows; ++n)
    sums[n] = sums[n] + static_cast<float>(products[0][n]) * unit + static_cast<float>(products[1][n]) * low_unit;
}

inline void multiply_bytes(const FixedPoint& x, const RowRun& weight, float* y) {
  const auto* const data = static_cast<const std::int8_t*>(weight.data);
  for (std::int64_t o = 0; o < weight.count; o += kByteRows) {
    const std::int64_t outputs = std::min<std::int64_t>(kByteRows, weight.count - o);
    const std::int8_t* row[kByteRows];  // rows past the end count as the last one
    for (int n = 0; n < kByteRows; ++n) row[n] = data + std::min(o + n, weight.count - 1) * weight.row_stride;
    float sums[kByteRows] = {};
    std::copy_n(y + o, outputs, sums);
    for (std::int64_t first = 0; first < x.count; first += kFixedBlock) add_block(x, first, row, sums);
    std::copy_n(sums, outputs, y + o);
  }
}

}  // namespace
}  // namespace headwise::kernels
