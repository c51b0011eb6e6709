#include <algorithm>
#include <cmath>

#include "headwise/position.h"
#include "position/table_size.h"

namespace headwise {

Status sinusoidal_positions(std::int64_t length, std::int64_t width, SinusoidalSplit split, double base, float* table) {
  if (Status status = check_table_size(length, width); !status.ok()) return status;
  if (!std::isfinite(base) || base <= 0.0)
    return Status::error(StatusCode::invalid_option, "base must be finite and > 0, got %g", base);

  for (std::int64_t s = 0; s < length; ++s)
    sinusoidal_row(static_cast<double>(s), width, split, base, table + s * width);
  return {};
}

void sinusoidal_row(double position, std::int64_t width, SinusoidalSplit split, double base, float* row) {
  const bool halves = split == SinusoidalSplit::halves;
  const std::int64_t half = width / 2;
  const double steps =
      halves ? static_cast<double>(std::max<std::int64_t>(half - 1, 1)) : 0.5 * static_cast<double>(width);
  row[width - 1] = 0.0f;  // the last column of `halves` with an odd width
  for (std::int64_t m = 0; m < (halves ? half : width - half); ++m) {
    const double angle = position * std::pow(base, -static_cast<double>(m) / steps);
    const std::int64_t cosine = halves ? m + half : 2 * m + 1;
    row[halves ? m : 2 * m] = static_cast<float>(std::sin(angle));
    if (cosine < width) row[cosine] = static_cast<float>(std::cos(angle));
  }
}

}  // namespace headwise
