#pragma once

#include <cstdint>

namespace headwise {

/// Elements that share a unit.
constexpr std::int64_t kFixedBlock = 128;
/// The value of 1 in a low part, in units.
constexpr float kFixedLow = 0x1p-15f;

/// A row of floats as whole numbers: element i is (high[i] + low[i] * kFixedLow) * units[i / kFixedBlock]. It differs
/// from the float by at most 2^-29 of the largest magnitude of its block, and by at most 2^-142 if that is more.
/// Infinities and NaNs are 0 here. No |high| or |low| is above 2^14, so sums of a block's products with int8 are at
/// most 2^28.
struct FixedPoint {
  std::int64_t count = 0;
  const std::int16_t *high = nullptr, *low = nullptr;
  const float* units = nullptr;
  bool is_finite = true;  ///< whether the row had neither infinities nor NaNs
};

/// Floats of memory that a row of `count` elements needs.
[[nodiscard]] std::int64_t fixed_point_floats(std::int64_t count);

/// Makes the whole numbers in `room`.
[[nodiscard]] FixedPoint to_fixed_point(const float* x, std::int64_t count, float* room);

}  // namespace headwise
