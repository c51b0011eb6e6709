#include "formula/formula_rules.h"

#include <bitset>
#include <limits>

#include "base/memory.h"

namespace headwise {

namespace {

using Long = long long;
using Set = std::bitset<kMostProgramInstructions>;

constexpr const char* kNames[] = {"score", "visible", "score derivative"};  // in the order of FormulaRole

/// The rules on the formula `name`. Errors say where they are.
class Rules {
 public:
  Rules(const Formula& formula, FormulaRole role)
      : formula_(formula), role_(role), name_(kNames[static_cast<int>(role)]) {}

  Status check() {
    for (const auto& list : {List{formula_.num_instructions, formula_.instructions},
                             {formula_.num_numbers, formula_.numbers},
                             {formula_.num_tables, formula_.tables},
                             {formula_.num_bounds, formula_.bounds}})
      if (list.count < 0 || (list.count > 0 && !list.data)) return error("a list is missing");
    const std::int64_t most = role_ == FormulaRole::derivative ? kMostProgramInstructions : kMostFormulaInstructions;
    if (formula_.num_instructions > most)
      return Status::error(StatusCode::invalid_option, "%s: at most %lld instructions are allowed, got %lld", name_,
                           static_cast<Long>(most), static_cast<Long>(formula_.num_instructions));
    for (std::int64_t n = 0; n < formula_.num_tables; ++n)
      if (Status status = check_table(formula_.tables[n], n); !status.ok()) return status;
    for (std::int64_t n = 0; n < formula_.num_instructions; ++n)
      if (Status status = check_instruction(n); !status.ok()) return status;
    for (std::int64_t n = 0; n < formula_.num_bounds; ++n)
      if (Status status = check_bound(formula_.bounds[n]); !status.ok()) return status;
    const bool has_value = formula_.result >= 0 && formula_.result < formula_.num_instructions;
    const bool may_lack_value = role_ == FormulaRole::visible && formula_.result == -1;
    return has_value || may_lack_value ? Status() : error("the result is no instruction");
  }

 private:
  struct List {
    std::int64_t count;
    const void* data;
  };

  [[nodiscard]] Status error(const char* what) const {
    return Status::error(StatusCode::invalid_option, "%s: %s", name_, what);
  }

  [[nodiscard]] Status check_table(const FormulaTable& table, std::int64_t n) const {
    std::int64_t size = 0;
    const bool fits = table.rows >= 0 && table.columns >= 0 && multiply_sizes(table.rows, table.columns, &size) &&
                      size <= std::numeric_limits<std::int32_t>::max() && (size == 0 || table.data);
    return fits ? Status()
                : Status::error(StatusCode::invalid_option, "%s: table %lld is missing or too large, %d x %d", name_,
                                static_cast<Long>(n), table.rows, table.columns);
  }

  [[nodiscard]] Status check_instruction(std::int64_t n) {
    const FormulaInstruction& instruction = formula_.instructions[n];
    const auto [operation, a, b, c] = instruction;
    const auto wrong = [&](const char* what) {
      return Status::error(StatusCode::invalid_option, "%s: instruction %lld %s", name_, static_cast<Long>(n), what);
    };
    if (operation < FormulaOperation::number || operation > FormulaOperation::select)
      return wrong("has no such operation");
    if (operation == FormulaOperation::variable) {
      if (a < 0 || a > static_cast<std::int32_t>(FormulaVariable::d)) return wrong("has no such variable");
      const auto variable = static_cast<FormulaVariable>(a);
      if (variable == FormulaVariable::s && role_ == FormulaRole::visible) return wrong("reads s");
      depends_on_key_[n] =
          variable == FormulaVariable::s || variable == FormulaVariable::k || variable == FormulaVariable::j;
      return {};
    }
    if (operation == FormulaOperation::number || operation == FormulaOperation::parameter)
      return a >= 0 && a < formula_.num_numbers ? Status() : wrong("has no such number");
    if (is_look_up(operation)) {
      if (a < 0 || a >= formula_.num_tables) return wrong("has no such table");
      if (operation == FormulaOperation::table1 && formula_.tables[a].rows != 1)
        return wrong("reads a table of rank 2 with one index");
    }
    for (int i = 0; i < count_operands(operation); ++i) {
      const std::int32_t of = operand(instruction, i);
      if (of < 0 || of >= n) return wrong("has an operand that is no earlier instruction");
      if (depends_on_key_[of]) depends_on_key_[n] = true;
    }
    return {};
  }

  [[nodiscard]] Status check_bound(const FormulaBound& bound) const {
    if (role_ != FormulaRole::visible) return error("bounds belong to visible");
    if (bound.coefficient == 0) return error("the coefficient of a bound is 0");
    for (const std::int32_t of : {bound.integer, bound.limit})
      if (of < -1 || of >= formula_.num_instructions || (of >= 0 && depends_on_key_[of]))
        return error("a bound is no instruction, or depends on the key");
    return {};
  }

  const Formula& formula_;
  const FormulaRole role_;
  const char* const name_;
  Set depends_on_key_;
};

}  // namespace

int count_operands(FormulaOperation operation) {
  if (operation <= FormulaOperation::parameter) return 0;
  if (operation == FormulaOperation::table1) return 1;
  if (operation == FormulaOperation::table2) return 2;
  if (operation <= FormulaOperation::logical_not) return 1;
  return operation == FormulaOperation::select ? 3 : 2;
}

Status validate_formula(const Formula& formula, FormulaRole role) { return Rules(formula, role).check(); }

}  // namespace headwise
