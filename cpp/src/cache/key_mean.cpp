#include "cache/key_mean.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "cache/widened_row.h"

namespace headwise {

namespace {

constexpr float kStandardErrors = 5.0f;
constexpr float kLargestMean = 0x1p64f;

}  // namespace

// Sums are of float32 in the order of the rows, as on WebGPU.
void mean_of_keys(const KeyValueSource& keys, std::int64_t b, std::int64_t g, std::int64_t count, std::int64_t width,
                  float* scratch, float* mean) {
  float *const row = scratch, *const sums = row + width, *const sizes = sums + width;
  std::fill_n(sums, 2 * width, 0.0f);
  std::int64_t rows = 0;
  RowRun run;
  for (std::int64_t j = 0; j < count; j += run.count) {
    run = keys.keys(b, g, j, count - j);
    for (std::int64_t r = 0; r < run.count; ++r) {
      widen_row(run, r, width, row);
      if (!all_finite(row, width)) continue;
      ++rows;
      for (std::int64_t d = 0; d < width; ++d) {
        sums[d] += row[d];
        sizes[d] += std::abs(row[d]);
      }
    }
  }
  const float n = static_cast<float>(std::max<std::int64_t>(rows, 1));
  float size = 0.0f;  // of all features
  for (std::int64_t d = 0; d < width; ++d) size += sizes[d] / n;
  const float chance = kStandardErrors * size / static_cast<float>(width) / std::sqrt(n);
  for (std::int64_t d = 0; d < width; ++d) {
    const float m = sums[d] / n, magnitude = std::abs(m);
    mean[d] = magnitude > chance && magnitude < kLargestMean ? m : 0.0f;
  }
}

}  // namespace headwise
