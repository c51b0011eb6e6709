#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "headwise/formula.h"

namespace headwise {

/// What one instruction of a formula reads and writes: rows of floats. An operand that is the same everywhere has step
/// 0 and lies there kBlockVectors vectors long; all others have step 1. `out` may be an operand with step 1.
struct StepArrays {
  const float* of[3];
  std::ptrdiff_t step[3];
  const FormulaTable* table;  ///< of a look-up
  float* out;
};

/// Computes one instruction for `count` elements, a multiple of the vector width. The bits of an element depend on its
/// operands alone.
///
/// Errors in ulp of float32: arithmetic, divisions and sqrt 0.5; exp, log, power 0.501; sin and cos 0.501 for
/// |x| <= 2^24, and beyond somewhere in [-1, 1]; tanh 4. A remainder is exact for |a / b| < 2^28, and 0 beyond.
using FormulaStep = void (*)(const StepArrays& arrays, std::int64_t count);

/// One function for each FormulaOperation; null for those that only name a value.
using FormulaSteps = std::array<FormulaStep, 31>;

/// Vectors that a step computes at a time, at most.
constexpr int kBlockVectors = 4;

/// Floats of the longest vector.
constexpr int kMostLanes = 16;

}  // namespace headwise
