#pragma once

#include <cstdint>
#include <limits>

#include "headwise/formula.h"

namespace headwise::reference {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A value in double, and how far a float32 evaluation may be from it. The error is infinite where that may be on
/// either side of a jump (floor, a comparison, an index): nothing is then known.
struct Evaluated {
  double value, error;
};

/// What a formula reads for one pair.
struct Pair {
  Evaluated s;
  std::int64_t q, k, i, j, h, g, b, sq, skv, d;
};

/// The value of instruction n for a pair.
[[nodiscard]] Evaluated evaluate(const Formula& formula, std::int32_t n, const Pair& pair);

/// Whether the bounds of a visible formula allow a pair: 1 or 0.
[[nodiscard]] Evaluated within_bounds(const Formula& formula, const Pair& pair);

}  // namespace headwise::reference
