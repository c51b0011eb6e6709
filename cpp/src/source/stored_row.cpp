#include "source/stored_row.h"

#include <cstring>

#include "base/numbers.h"

namespace headwise {

void store_row(const float* row, std::int64_t width, Dtype dtype, std::uint8_t* to, float* scales) {
  switch (dtype) {
    case Dtype::float32:
      std::memcpy(to, row, static_cast<std::size_t>(width) * sizeof(float));
      return;
    case Dtype::float16:
      floats_to_halves(row, width, reinterpret_cast<std::uint16_t*>(to));
      return;
    case Dtype::int8:
      quantise_blocks(row, width, reinterpret_cast<std::int8_t*>(to), scales);
  }
}

void load_row(const std::uint8_t* from, const float* scales, std::int64_t width, Dtype dtype, float* row) {
  switch (dtype) {
    case Dtype::float32:
      std::memcpy(row, from, static_cast<std::size_t>(width) * sizeof(float));
      return;
    case Dtype::float16:
      halves_to_floats(reinterpret_cast<const std::uint16_t*>(from), width, row);
      return;
    case Dtype::int8:
      for (std::int64_t d = 0; d < width; ++d)
        row[d] = static_cast<float>(reinterpret_cast<const std::int8_t*>(from)[d]) * scales[d / kScaleBlock];
  }
}

void subtract_mean(const float* mean, std::int64_t width, float* row) {
  for (std::int64_t d = 0; mean && d < width; ++d) row[d] -= mean[d];
}

void add_mean(const float* mean, std::int64_t width, float* row) {
  for (std::int64_t d = 0; mean && d < width; ++d) row[d] += mean[d];
}

}  // namespace headwise
