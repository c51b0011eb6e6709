#include <algorithm>

#include "base/memory.h"
#include "position/rotary.h"

namespace headwise {

Status RotaryArrays::keep(std::int64_t head_dim, RotaryOptions* options) {
  const std::int64_t half = rotary_dim_of(*options, head_dim) / 2;
  const bool is_longrope = options->scaling == RotaryScaling::longrope;
  if (is_longrope || options->scaling == RotaryScaling::frequencies) {
    if (!numbers_.allocate(2 * half)) return Status::out_of_memory(16 * half);
    const auto copy = [&](const double** list, double* to) {
      std::copy_n(*list, half, to);
      *list = to;
    };
    copy(is_longrope ? &options->short_factors : &options->frequencies, numbers_.data());
    if (is_longrope) copy(&options->long_factors, numbers_.data() + half);
  }
  if (options->scaling == RotaryScaling::tables) {
    std::int64_t count = 0;
    if (!multiply_sizes(options->table_rows, 2 * half, &count))
      return Status::error(StatusCode::invalid_shape, "cos and sin are too large to address");
    if (!tables_.allocate(count)) return Status::out_of_memory(count * kFloatBytes);
    std::copy_n(options->cosines, count / 2, tables_.data());
    std::copy_n(options->sines, count / 2, tables_.data() + count / 2);
    options->cosines = tables_.data();
    options->sines = tables_.data() + count / 2;
  }
  return {};
}

std::int64_t RotaryArrays::bytes() const {
  return numbers_.size() * static_cast<std::int64_t>(sizeof(double)) + tables_.size() * kFloatBytes;
}

}  // namespace headwise
