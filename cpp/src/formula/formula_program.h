#pragma once

#include <cstdint>
#include <span>

#include "base/rules.h"
#include "headwise/formula.h"

namespace headwise {

/// Instructions of any program; a derivative has the most.
inline constexpr std::int64_t kMostProgramInstructions = 1024;

/// What a formula is for.
enum class FormulaRole { score, visible, derivative };

/// Every rule on a formula. Nothing else checks it again.
[[nodiscard]] Error validate_formula(const Formula& formula, FormulaRole role);

/// How many of a, b and c are numbers of earlier instructions, and the first one of them: look-ups have a table before.
[[nodiscard]] int count_operands(FormulaOperation operation);
[[nodiscard]] inline bool is_look_up(FormulaOperation operation) {
  return operation == FormulaOperation::table1 || operation == FormulaOperation::table2;
}

/// Operand n of an instruction.
[[nodiscard]] inline std::int32_t operand(const FormulaInstruction& instruction, int n) {
  const std::int32_t all[] = {instruction.a, instruction.b, instruction.c};
  return all[n + is_look_up(instruction.operation)];
}

/// How often a value is computed. Later rates read earlier ones.
enum class FormulaRate : std::int8_t {
  uniform,   ///< once for the rows of a tile
  row,       ///< once for each row
  key,       ///< once for each head and key of a tile
  distance,  ///< once for each head and distance k - q of a tile: what depends on q and k through q - k alone
  pair,      ///< for each row and key
};
constexpr int kFormulaRates = 5;

/// A formula that has been checked, made ready to run: which instructions are needed, the rate of each, and where its
/// value is kept. Values that later rates read are *kept*. Others share registers within their rate.
class FormulaProgram {
 public:
  /// @param also  instructions whose values are wanted beside the result; they must stay where they are
  void compile(const Formula& formula, std::span<const std::int32_t> also = {});
  /// Whether a formula was compiled.
  [[nodiscard]] explicit operator bool() const { return formula_ != nullptr; }
  [[nodiscard]] const Formula& formula() const { return *formula_; }
  [[nodiscard]] bool has_result() const { return formula_ && formula_->result >= 0; }

  struct Value {
    FormulaRate rate;
    bool needed;
    bool kept;
    std::int16_t place;  ///< number among the kept values of its rate, or of its register
  };
  [[nodiscard]] const Value& value(std::int32_t n) const { return values_[n]; }

  /// Calls visit(n) for each needed instruction of a rate, in order.
  template <class Visit>
  void for_each(FormulaRate rate, Visit visit) const {
    const auto r = static_cast<int>(rate);
    for (int at = r == 0 ? 0 : ends_[r - 1]; at < ends_[r]; ++at) visit(order_[at]);
  }
  [[nodiscard]] int kept(FormulaRate rate) const { return kept_[static_cast<int>(rate)]; }
  [[nodiscard]] int registers(FormulaRate rate) const { return registers_[static_cast<int>(rate)]; }
  [[nodiscard]] bool has(FormulaRate rate) const { return kept(rate) + registers(rate) > 0; }

  /// Whether the values of bounds depend on the head.
  [[nodiscard]] bool bounds_depend_on_head() const { return bounds_depend_on_head_; }
  /// Whether instruction n is q - k, or k - q.
  [[nodiscard]] bool is_distance(std::int32_t n) const;

 private:
  template <class Visit>
  void for_each_wanted(Visit visit) const;
  void find_needed();
  void find_rates();
  void sort_by_rate();
  void find_kept();
  void place(FormulaRate rate);

  const Formula* formula_ = nullptr;
  std::span<const std::int32_t> also_;
  Value values_[kMostProgramInstructions];
  std::uint8_t depends_[kMostProgramInstructions];
  std::int16_t order_[kMostProgramInstructions];
  int ends_[kFormulaRates];
  int kept_[kFormulaRates], registers_[kFormulaRates];
  bool bounds_depend_on_head_ = false;
};

}  // namespace headwise
