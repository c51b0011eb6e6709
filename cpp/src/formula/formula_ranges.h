#pragma once

#include <cstdint>

#include "formula/formula_program.h"
#include "formula/formula_tile.h"
#include "formula/table_ranges.h"
#include "kernel/kernel_table.h"

namespace headwise {

/// Rows [begin, end) of `rows`, and keys [first_key, last_key) of their sequence in boxes of `width`, at most 64.
struct FormulaBoxes {
  const FormulaSequence& sequence;
  const FormulaRows& rows;
  std::int64_t begin, end, first_key, last_key, width;

  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] ValueRange range(const Formula& formula, std::int32_t n, std::int64_t box) const;
};

/// Of boxes, a bit for each: whether some pair, and whether every pair may have a result other than 0.
struct BoxBits {
  std::uint64_t some, every;
};

/// Interval arithmetic over a program: what it can give for any row and key of a box. No value outside is possible, but
/// some inside may be. The program reads no score.
class FormulaRanges {
 public:
  static std::int64_t bytes(const FormulaProgram& program, std::int64_t boxes);
  void place(char* memory, const FormulaProgram& program, const TableRanges& tables, const KernelTable& kernels);

  [[nodiscard]] BoxBits ask(const FormulaBoxes& boxes);

 private:
  void compute(std::int32_t n, std::int64_t count);
  [[nodiscard]] ValueRange combine(std::int32_t n, FormulaOperation operation, ValueRange a, ValueRange b,
                                   ValueRange c) const;
  [[nodiscard]] float value(FormulaOperation operation, float a, float b = 0.0f) const;
  [[nodiscard]] ValueRange monotone(FormulaOperation operation, ValueRange a) const;
  [[nodiscard]] ValueRange power(ValueRange a, ValueRange b) const;
  [[nodiscard]] ValueRange remainder(ValueRange a, ValueRange b) const;
  [[nodiscard]] ValueRange look_up1(std::int32_t n, ValueRange index) const;
  [[nodiscard]] ValueRange look_up2(std::int32_t n, ValueRange row, ValueRange column) const;
  [[nodiscard]] bool varies(std::int32_t n) const {
    const FormulaRate rate = program_->value(n).rate;
    return rate != FormulaRate::uniform && rate != FormulaRate::row;
  }
  [[nodiscard]] ValueRange* ranges(std::int32_t n) const { return ranges_ + places_[n]; }

  const FormulaProgram* program_ = nullptr;
  const TableRanges* tables_ = nullptr;
  const KernelTable* kernels_ = nullptr;
  ValueRange* ranges_ = nullptr;
  std::int32_t places_[kMostFormulaInstructions];
};

}  // namespace headwise
