#pragma once

#include <cstdint>

#include "cases.h"
#include "formula_builder.h"

/// Calls for tests of formulas.
namespace headwise::formulas {

/// q - k
[[nodiscard]] std::int32_t distance(FormulaBuilder& f);

/// A random call with options of each kind, without a formula.
[[nodiscard]] cases::Case random_formula_case(std::uint32_t seed);

/// A call of several tiles, that returns all.
[[nodiscard]] cases::Case dense_call(std::uint32_t seed);

}  // namespace headwise::formulas
