#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/array.h"

namespace headwise {

/// Consecutive rows of queries, keys, values or weights as they lie in memory. Element (row, column) is
/// data[row * row_stride + column * column_stride]. For int8 it is multiplied by scales[row * scale_stride].
struct RowRun {
  const void* data = nullptr;
  Dtype dtype = Dtype::float32;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t column_stride = 1;
  const float* scales = nullptr;
  std::ptrdiff_t scale_stride = 0;
  std::int64_t count = 0;  ///< rows in this run, >= 1
};

}  // namespace headwise
