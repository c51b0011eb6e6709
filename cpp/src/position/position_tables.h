#pragma once

#include <cstdint>

#include "base/memory.h"
#include "base/rules.h"
#include "headwise/position.h"
#include "position/kept_rows.h"

namespace headwise {

/// The rows of a sinusoidal table, with the frequencies computed once.
class Sinusoids final : public PositionRule {
 public:
  [[nodiscard]] Error create(std::int64_t width, SinusoidalSplit split, double base);
  void write(double position, float* row) const override;

 private:
  std::int64_t width_ = 0;
  SinusoidalSplit split_ = SinusoidalSplit::interleaved;
  Buffer<double> frequencies_;
};

}  // namespace headwise
