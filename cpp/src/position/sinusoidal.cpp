#include <algorithm>
#include <cmath>

#include "headwise/position.h"
#include "position/sinusoids.h"
#include "position/table_size.h"

namespace headwise {

Status Sinusoids::create(std::int64_t width, SinusoidalSplit split, double base) {
  width_ = width;
  split_ = split;
  const bool halves = split == SinusoidalSplit::halves;
  const std::int64_t half = width / 2, count = halves ? half : width - half;
  const double steps =
      halves ? static_cast<double>(std::max<std::int64_t>(half - 1, 1)) : 0.5 * static_cast<double>(width);
  if (!frequencies_.allocate(count)) return Status::out_of_memory(count * static_cast<std::int64_t>(sizeof(double)));
  for (std::int64_t m = 0; m < count; ++m) frequencies_[m] = std::pow(base, -static_cast<double>(m) / steps);
  return {};
}

void Sinusoids::write(double position, float* row) const {
  const bool halves = split_ == SinusoidalSplit::halves;
  row[width_ - 1] = 0.0f;  // the last column of `halves` with an odd width
  for (std::int64_t m = 0; m < frequencies_.size(); ++m) {
    const double angle = position * frequencies_[m];
    const std::int64_t cosine = halves ? m + width_ / 2 : 2 * m + 1;
    row[halves ? m : 2 * m] = static_cast<float>(std::sin(angle));
    if (cosine < width_) row[cosine] = static_cast<float>(std::cos(angle));
  }
}

Status sinusoidal_positions(std::int64_t length, std::int64_t width, SinusoidalSplit split, double base, float* table) {
  if (Status status = check_table_size(length, width); !status.ok()) return status;
  if (!std::isfinite(base) || base <= 0.0)
    return Status::error(StatusCode::invalid_option, "base must be finite and > 0, got %g", base);

  Sinusoids sinusoids;
  if (Status status = sinusoids.create(width, split, base); !status.ok()) return status;
  for (std::int64_t s = 0; s < length; ++s) sinusoids.write(static_cast<double>(s), table + s * width);
  return {};
}

}  // namespace headwise
