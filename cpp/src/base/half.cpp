#include "base/half.h"

namespace headwise {

void halves_to_floats(const std::uint16_t* halves, std::int64_t count, float* floats) {
  for (std::int64_t i = 0; i < count; ++i) floats[i] = half_to_float(halves[i]);
}

void floats_to_halves(const float* floats, std::int64_t count, std::uint16_t* halves) {
  for (std::int64_t i = 0; i < count; ++i) halves[i] = float_to_half(floats[i]);
}

}  // namespace headwise
