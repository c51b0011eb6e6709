#pragma once

#include <cstdint>

#include "base/numbers.h"
#include "kernel/row_run.h"

namespace headwise {

/// row = row r of a run of float32 or float16, as float32.
inline void widen_row(const RowRun& run, std::int64_t r, std::int64_t width, float* row) {
  const std::int64_t at = r * run.row_stride;
  if (run.dtype == Dtype::float32) {
    const float* x = static_cast<const float*>(run.data) + at;
    for (std::int64_t d = 0; d < width; ++d) row[d] = x[d * run.column_stride];
  } else {
    const std::uint16_t* x = static_cast<const std::uint16_t*>(run.data) + at;
    for (std::int64_t d = 0; d < width; ++d) row[d] = half_to_float(x[d * run.column_stride]);
  }
}

}  // namespace headwise
