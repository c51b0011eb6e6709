#pragma once

#include <cstdint>

namespace headwise {

/// What a formula can read; see `Formula`.
enum class FormulaVariable : std::int32_t {
  s = 0,    ///< the score after scale, softcap, ALiBi and bias
  q = 1,    ///< position of the query: i + offset
  k = 2,    ///< position of the key: pi_bj
  i = 3,    ///< row of the query in its sequence
  j = 4,    ///< row of the key in its sequence
  h = 5,    ///< query head
  g = 6,    ///< kv head
  b = 7,    ///< batch; in a ragged batch the sequence
  sq = 8,   ///< query rows of the sequence
  skv = 9,  ///< key rows of the sequence; on a cache the tokens that the batch holds
  d = 10,   ///< head_dim
};

/// The operations: lines of formula_operations.def, which says what each computes. Booleans are 1 and 0.
///
/// Arithmetic, divisions and sqrt round once. exp, log and power err by at most 0.501 ulp, tanh by 4, sin and cos by
/// 0.501 for |x| <= 2^24; beyond they are somewhere in [-1, 1]. A remainder is exact for |a / b| < 2^28, and 0 beyond.
/// Powers are those of JavaScript: 1 to the power of an infinity is NaN.
#define OPERATION(name, operands, step, script) name,
enum class FormulaOperation : std::int32_t {
#include "headwise/formula_operations.def"
};

/// How many there are.
inline constexpr int kFormulaOperations = static_cast<int>(FormulaOperation::select) + 1;

/// An instruction. Its result has its own number.
struct FormulaInstruction {
  FormulaOperation operation;
  std::int32_t a, b, c;
};

/// A table of rank 1 ([columns], rows = 1) or 2 ([rows, columns]). Its values are read, never written.
struct FormulaTable {
  const float* data;
  std::int32_t rows, columns;
};

/// A limit of a row's keys: coefficient * x + integer <= limit, or < limit if strict. x is k, or j if `on_rows`.
/// `integer` and `limit` are numbers of instructions that depend on neither s, k nor j, or -1 for 0. `integer` is
/// rounded down first, and `limit` to the whole number that hides the same; then nothing is rounded. A NaN limit hides
/// all keys.
struct FormulaBound {
  std::int32_t on_rows, coefficient, integer, limit, strict;
};

/// A formula: straight-line code over one pair of a query and a key. At most kMostFormulaInstructions instructions.
/// Results are float32.
///
/// As AttentionOptions::score, `result` is the new score. -inf hides the key. NaN poisons its row.
/// As AttentionOptions::visible, a key is visible if all bounds hold and `result` (unless it is -1) is not 0.
struct Formula {
  const FormulaInstruction* instructions = nullptr;
  std::int64_t num_instructions = 0;
  std::int32_t result = -1;
  const float* numbers = nullptr;
  std::int64_t num_numbers = 0;
  const FormulaTable* tables = nullptr;
  std::int64_t num_tables = 0;
  const FormulaBound* bounds = nullptr;  ///< only of visible
  std::int64_t num_bounds = 0;
};

inline constexpr std::int64_t kMostFormulaInstructions = 256;

}  // namespace headwise
