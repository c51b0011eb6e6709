#include "formula/formula_program.h"

#include <algorithm>
#include <bitset>
#include <iterator>
#include <limits>

#include "base/memory.h"

namespace headwise {

namespace {

using Set = std::bitset<kMostProgramInstructions>;

/// In the order of FormulaRole.
constexpr Argument kNames[] = {Argument::score, Argument::visible, Argument::score_derivative};

/// The rules on the formula `name`. Errors say where they are.
class Rules {
 public:
  Rules(const Formula& formula, FormulaRole role)
      : formula_(formula), role_(role), name_(kNames[static_cast<int>(role)]) {}

  Error check() {
    for (const auto& list : {List{formula_.num_instructions, formula_.instructions},
                             {formula_.num_numbers, formula_.numbers},
                             {formula_.num_tables, formula_.tables},
                             {formula_.num_bounds, formula_.bounds}})
      if (list.count < 0 || (list.count > 0 && !list.data)) return refuse(Rule::formula_list, name_);
    const std::int64_t most = role_ == FormulaRole::derivative ? kMostProgramInstructions : kMostFormulaInstructions;
    if (formula_.num_instructions > most) return refuse(Rule::formula_length, name_, most, formula_.num_instructions);
    for (std::int64_t n = 0; n < formula_.num_tables; ++n)
      if (Error e = check_table(formula_.tables[n], n)) return e;
    for (std::int64_t n = 0; n < formula_.num_instructions; ++n)
      if (Error e = check_instruction(n)) return e;
    for (std::int64_t n = 0; n < formula_.num_bounds; ++n)
      if (Error e = check_bound(formula_.bounds[n])) return e;
    const bool has_value = formula_.result >= 0 && formula_.result < formula_.num_instructions;
    const bool may_lack_value = role_ == FormulaRole::visible && formula_.result == -1;
    return has_value || may_lack_value ? Error() : refuse(Rule::formula_result, name_);
  }

 private:
  struct List {
    std::int64_t count;
    const void* data;
  };

  [[nodiscard]] Error check_table(const FormulaTable& table, std::int64_t n) const {
    std::int64_t size = 0;
    const bool fits = table.rows >= 0 && table.columns >= 0 && multiply_sizes(table.rows, table.columns, &size) &&
                      size <= std::numeric_limits<std::int32_t>::max() && (size == 0 || table.data);
    return fits ? Error() : refuse(Rule::formula_table, {name_, n}, table.rows, table.columns);
  }

  [[nodiscard]] Error check_instruction(std::int64_t n) {
    const FormulaInstruction& instruction = formula_.instructions[n];
    const auto [operation, a, b, c] = instruction;
    const At here{name_, n};
    if (static_cast<std::int32_t>(operation) < 0 || static_cast<std::int32_t>(operation) >= kFormulaOperations)
      return refuse(Rule::formula_operation, here);
    if (operation == FormulaOperation::variable) {
      if (a < 0 || a > static_cast<std::int32_t>(FormulaVariable::d)) return refuse(Rule::formula_variable, here);
      const auto variable = static_cast<FormulaVariable>(a);
      if (variable == FormulaVariable::s && role_ == FormulaRole::visible) return refuse(Rule::formula_reads_s, here);
      depends_on_key_[n] =
          variable == FormulaVariable::s || variable == FormulaVariable::k || variable == FormulaVariable::j;
      return {};
    }
    if (operation == FormulaOperation::number || operation == FormulaOperation::parameter)
      return a >= 0 && a < formula_.num_numbers ? Error() : refuse(Rule::formula_number, here);
    if (is_look_up(operation)) {
      if (a < 0 || a >= formula_.num_tables) return refuse(Rule::formula_look_up, here);
      if (operation == FormulaOperation::table1 && formula_.tables[a].rows != 1)
        return refuse(Rule::formula_rank, here);
    }
    for (int i = 0; i < count_operands(operation); ++i) {
      const std::int32_t of = operand(instruction, i);
      if (of < 0 || of >= n) return refuse(Rule::formula_operand, here);
      if (depends_on_key_[of]) depends_on_key_[n] = true;
    }
    return {};
  }

  [[nodiscard]] Error check_bound(const FormulaBound& bound) const {
    if (role_ != FormulaRole::visible) return refuse(Rule::formula_bounds, name_);
    if (bound.coefficient == 0) return refuse(Rule::formula_coefficient, name_);
    for (const std::int32_t of : {bound.integer, bound.limit})
      if (of < -1 || of >= formula_.num_instructions || (of >= 0 && depends_on_key_[of]))
        return refuse(Rule::formula_bound, name_);
    return {};
  }

  const Formula& formula_;
  const FormulaRole role_;
  const Argument name_;
  Set depends_on_key_;
};

}  // namespace

int count_operands(FormulaOperation operation) {
#define OPERATION(name, operands, step, script) operands,
  static constexpr std::int8_t kOperands[] = {
#include "headwise/formula_operations.def"
  };
  static_assert(std::size(kOperands) == kFormulaOperations, "select must be the last operation");
  return kOperands[static_cast<int>(operation)];
}

Error validate_formula(const Formula& formula, FormulaRole role) { return Rules(formula, role).check(); }

namespace {

// What a value depends on. Values of `on_distance` depend on q and k through q - k alone.
constexpr std::uint8_t on_head = 1, on_row = 2, on_key = 4, on_distance = 8, on_score = 16;

std::uint8_t dependence_of(FormulaVariable variable) {
  switch (variable) {
    case FormulaVariable::s:
      return on_score;
    case FormulaVariable::q:
    case FormulaVariable::i:
      return on_row;
    case FormulaVariable::k:
    case FormulaVariable::j:
      return on_key;
    case FormulaVariable::h:
    case FormulaVariable::g:
      return on_head;
    default:
      return 0;
  }
}

FormulaRate rate_of(std::uint8_t depends) {
  const bool row = depends & on_row, key = depends & on_key, distance = depends & on_distance;
  if ((depends & on_score) || row + key + distance > 1) return FormulaRate::pair;
  if (key) return FormulaRate::key;
  if (distance) return FormulaRate::distance;
  return depends ? FormulaRate::row : FormulaRate::uniform;
}

bool is_variable(const FormulaInstruction& instruction, FormulaVariable variable) {
  return instruction.operation == FormulaOperation::variable && instruction.a == static_cast<std::int32_t>(variable);
}

}  // namespace

bool FormulaProgram::is_distance(std::int32_t n) const {
  const FormulaInstruction& instruction = formula_->instructions[n];
  if (instruction.operation != FormulaOperation::subtract) return false;
  const FormulaInstruction &a = formula_->instructions[instruction.a], &b = formula_->instructions[instruction.b];
  return (is_variable(a, FormulaVariable::q) && is_variable(b, FormulaVariable::k)) ||
         (is_variable(a, FormulaVariable::k) && is_variable(b, FormulaVariable::q));
}

void FormulaProgram::compile(const Formula& formula, std::span<const std::int32_t> also) {
  formula_ = &formula;
  also_ = also;
  find_rates();
  find_needed();
  sort_by_rate();
  find_kept();
  for (int rate = 0; rate < kFormulaRates; ++rate) place(static_cast<FormulaRate>(rate));
}

void FormulaProgram::find_rates() {
  for (std::int32_t n = 0; n < formula_->num_instructions; ++n) {
    const FormulaInstruction& instruction = formula_->instructions[n];
    std::uint8_t depends = 0;
    if (instruction.operation == FormulaOperation::variable)
      depends = dependence_of(static_cast<FormulaVariable>(instruction.a));
    else if (is_distance(n))
      depends = on_distance;
    else
      for (int i = 0; i < count_operands(instruction.operation); ++i) depends |= depends_[operand(instruction, i)];
    depends_[n] = depends;
    values_[n] = {rate_of(depends), false, false, -1};
  }
}

/// Calls visit(n) for the result, what the bounds read, and what else the caller wants.
template <class Visit>
void FormulaProgram::for_each_wanted(Visit visit) const {
  const auto offer = [&](std::int32_t n) {
    if (n >= 0) visit(n);
  };
  offer(formula_->result);
  for (std::int64_t n = 0; n < formula_->num_bounds; ++n) {
    offer(formula_->bounds[n].integer);
    offer(formula_->bounds[n].limit);
  }
  for (const std::int32_t n : also_) offer(n);
}

/// Marks what is wanted, and what that needs. A distance needs neither q nor k.
void FormulaProgram::find_needed() {
  for_each_wanted([&](std::int32_t n) { values_[n].needed = true; });
  for (std::int64_t n = 0; n < formula_->num_bounds; ++n)
    for (const std::int32_t of : {formula_->bounds[n].integer, formula_->bounds[n].limit})
      if (of >= 0 && (depends_[of] & on_head)) bounds_depend_on_head_ = true;
  for (std::int64_t n = formula_->num_instructions - 1; n >= 0; --n) {
    const FormulaInstruction& instruction = formula_->instructions[n];
    if (!values_[n].needed || is_distance(static_cast<std::int32_t>(n))) continue;
    for (int i = 0; i < count_operands(instruction.operation); ++i) values_[operand(instruction, i)].needed = true;
  }
}

void FormulaProgram::sort_by_rate() {
  int count = 0;
  for (int rate = 0; rate < kFormulaRates; ++rate) {
    for (std::int32_t n = 0; n < formula_->num_instructions; ++n)
      if (values_[n].needed && static_cast<int>(values_[n].rate) == rate)
        order_[count++] = static_cast<std::int16_t>(n);
    ends_[rate] = count;
  }
}

/// Values that another rate, the bounds or the caller read.
void FormulaProgram::find_kept() {
  for_each_wanted([&](std::int32_t n) { values_[n].kept = true; });
  for (int at = 0; at < ends_[kFormulaRates - 1]; ++at) {
    const std::int32_t n = order_[at];
    const FormulaInstruction& instruction = formula_->instructions[n];
    if (is_distance(n)) continue;
    for (int i = 0; i < count_operands(instruction.operation); ++i) {
      const std::int32_t of = operand(instruction, i);
      if (values_[of].rate != values_[n].rate) values_[of].kept = true;
    }
  }
}

/// Gives each value of a rate its place. A register is free again after the last instruction that reads it, and that
/// instruction may write to it.
void FormulaProgram::place(FormulaRate rate) {
  std::int16_t last_use[kMostProgramInstructions];
  for_each(rate, [&](std::int32_t n) {
    last_use[n] = static_cast<std::int16_t>(n);
    const FormulaInstruction& instruction = formula_->instructions[n];
    for (int i = 0; i < count_operands(instruction.operation); ++i)
      last_use[operand(instruction, i)] = static_cast<std::int16_t>(n);
  });
  bool taken[kMostProgramInstructions] = {};
  int kept = 0, registers = 0;
  for_each(rate, [&](std::int32_t n) {
    const FormulaInstruction& instruction = formula_->instructions[n];
    for (int i = 0; i < count_operands(instruction.operation) && !is_distance(n); ++i) {
      const std::int32_t of = operand(instruction, i);
      const Value& value = values_[of];
      if (value.rate == rate && !value.kept && last_use[of] == n) taken[value.place] = false;
    }
    Value& value = values_[n];
    if (value.kept) {
      value.place = static_cast<std::int16_t>(kept++);
      return;
    }
    value.place = static_cast<std::int16_t>(std::find(taken, taken + kMostProgramInstructions, false) - taken);
    taken[value.place] = true;
    registers = std::max(registers, value.place + 1);
  });
  kept_[static_cast<int>(rate)] = kept;
  registers_[static_cast<int>(rate)] = registers;
}

}  // namespace headwise
