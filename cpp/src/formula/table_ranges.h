#pragma once

#include <cstdint>

#include "base/memory.h"
#include "formula/formula_program.h"
#include "formula/value_range.h"
#include "headwise/status.h"

namespace headwise {

/// The smallest and the largest element of any part of the tables that a program reads. They are read once. Blocks of
/// 16 elements have a range, so have blocks of 16 blocks, and so on.
class TableRanges {
 public:
  [[nodiscard]] Status read(const FormulaProgram& program);
  /// The elements [begin, end) of the table that instruction n looks up. Without a number among them, low > high.
  [[nodiscard]] ValueRange of(std::int32_t n, std::int64_t begin, std::int64_t end) const;

 private:
  const FormulaProgram* program_ = nullptr;
  std::int64_t first_[kMostFormulaInstructions];  ///< of each look-up, its first block
  Buffer<ValueRange> blocks_;
};

}  // namespace headwise
