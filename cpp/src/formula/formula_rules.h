#pragma once

#include <cstdint>

#include "headwise/formula.h"
#include "headwise/status.h"

namespace headwise {

/// Instructions of any program; a derivative has the most.
inline constexpr std::int64_t kMostProgramInstructions = 1024;

/// What a formula is for.
enum class FormulaRole { score, visible, derivative };

/// Every rule on a formula. Nothing else checks it again.
[[nodiscard]] Status validate_formula(const Formula& formula, FormulaRole role);

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

}  // namespace headwise
