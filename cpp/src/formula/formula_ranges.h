#pragma once

#include <algorithm>
#include <cstdint>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/rules.h"
#include "formula/formula_program.h"
#include "formula/formula_tile.h"
#include "kernel/kernel_table.h"

namespace headwise {

/// Where a value lies: in [low, high], or NaN if `nan`. Every function below gives a range that holds all its results;
/// sums, products and quotients are rounded as the values are, and rounding keeps order.
struct ValueRange {
  float low = kInfinity, high = -kInfinity;
  bool nan = false;

  static ValueRange of(float value) { return value == value ? ValueRange{value, value, false} : anything(); }
  static ValueRange anything() { return {-kInfinity, kInfinity, true}; }
  static ValueRange truth(bool maybe_true, bool maybe_false) {
    return {maybe_false ? 0.0f : 1.0f, maybe_true ? 1.0f : 0.0f, false};
  }

  [[nodiscard]] bool is_point() const { return low == high && !nan; }
  [[nodiscard]] bool has(float value) const { return low <= value && value <= high; }
  [[nodiscard]] bool has_infinity() const { return low == -kInfinity || high == kInfinity; }
  [[nodiscard]] bool maybe_true() const { return nan || low < 0.0f || high > 0.0f; }
  [[nodiscard]] bool maybe_false() const { return has(0.0f); }
  [[nodiscard]] float magnitude() const { return std::max(-low, high); }

  void include(ValueRange other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    nan |= other.nan;
  }
  void include(float value) {
    if (value != value)
      nan = true;
    else
      include(ValueRange{value, value, false});
  }
};

/// The smallest and the largest element of any part of the tables that a program reads. They are read once. A tree of
/// ranges: a node has 16 elements, or 16 nodes of the level below.
class TableRanges {
 public:
  [[nodiscard]] Error read(const FormulaProgram& program);
  /// The elements [begin, end) of the table that instruction n looks up. Without a number among them, low > high.
  [[nodiscard]] ValueRange of(std::int32_t n, std::int64_t begin, std::int64_t end) const;

 private:
  const FormulaProgram* program_ = nullptr;
  std::int64_t first_[kMostFormulaInstructions];  ///< of each look-up, its first node
  Buffer<ValueRange> nodes_;
};

/// The begin-th to the end-th of `rows`, and keys [first_key, last_key) of their sequence in boxes of `width`, at
/// most 64.
struct FormulaBoxes {
  const Rows& rows;
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
  /// @param boxes  the most that are asked for at a time
  void place(Placement& place, const FormulaProgram& program, const TableRanges& tables, const KernelTable& kernels,
             std::int64_t boxes);

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
