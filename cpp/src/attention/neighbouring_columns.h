#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/kernel_table.h"

namespace headwise {

/// The run itself if its columns are neighbours, as the kernels for few rows need. Otherwise a widened copy in
/// `scratch`.
inline RowRun with_neighbouring_columns(const KernelTable& kernels, const RowRun& run, std::int64_t columns,
                                        float* scratch) {
  if (run.column_stride == 1) return run;
  kernels.widen(run, columns, scratch, columns);
  return {scratch, Dtype::float32, static_cast<std::ptrdiff_t>(columns), 1, nullptr, 0, run.count};
}

}  // namespace headwise
