#pragma once

#include <cstddef>
#include <cstdint>

#include "base/numbers.h"
#include "base/strides.h"
#include "headwise/array.h"

namespace headwise {

/// Consecutive rows of queries, keys, values or weights as they lie in memory. Element (row, column) is
/// data[row * row_stride + column * column_stride]. For int8 it is multiplied by
/// scales[row * scale_stride + column / kScaleBlock], if there are scales.
struct RowRun {
  const void* data = nullptr;
  Dtype dtype = Dtype::float32;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t column_stride = 1;
  const float* scales = nullptr;
  std::ptrdiff_t scale_stride = 0;
  std::int64_t count = 0;  ///< rows in this run, >= 1

  /// The same rows from `column` on, with which a block of scales begins.
  [[nodiscard]] RowRun from_column(std::int64_t column) const {
    RowRun rest = *this;
    rest.data = static_cast<const char*>(data) + column * column_stride * size_of(dtype);
    if (scales) rest.scales += column / kScaleBlock;
    return rest;
  }
  /// The scale of an element of int8.
  [[nodiscard]] float scale(std::int64_t row, std::int64_t column) const {
    return scales ? scales[row * scale_stride + column / kScaleBlock] : 1.0f;
  }
};

/// Rows of a head, from position `i` of batch `b` on.
[[nodiscard]] inline RowRun row_run(ConstArray array, const Strides& strides, std::int64_t b, std::int64_t head,
                                    std::int64_t i, std::int64_t count) {
  const std::int64_t at = b * strides.batch + head * strides.head + i * strides.position;
  RowRun rows;
  rows.data = static_cast<const char*>(array.data) + at * size_of(array.dtype);
  rows.dtype = array.dtype;
  rows.row_stride = strides.position;
  rows.column_stride = strides.feature;
  rows.count = count;
  return rows;
}

}  // namespace headwise
