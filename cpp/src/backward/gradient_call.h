#pragma once

#include <cstdint>

#include "attention/call.h"
#include "formula/formula_program.h"
#include "headwise/backward.h"

namespace headwise {

/// Query rows [begin, end) of a sequence that meet one kv head: row r is query r / heads of head
/// first_head + r % heads. `heads` is the size of the group, or 1.
struct RowBlock {
  const Sequence* sequence;
  std::int64_t group;  ///< kv head
  std::int64_t first_head, heads;
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  [[nodiscard]] std::int64_t head(std::int64_t r) const { return first_head + r % heads; }
  [[nodiscard]] std::int64_t query(std::int64_t r) const { return r / heads; }
};

/// A call of gradients that has been checked.
struct GradientCall {
  const Call& forward;
  const BackwardInputs& inputs;
  const BackwardOutputs& outputs;
  const FormulaProgram& derivative;  ///< empty without a score formula
  const float* deltas;               ///< [B, num_heads, Sq] do . o - dlse
  const float* lse;                  ///< [B, num_heads, Sq]
  const float* lse_rest;             ///< the same, see AttentionOutputs; null: 0

  [[nodiscard]] const KernelTable& kernels() const { return forward.kernels; }
  [[nodiscard]] float gain(std::int64_t head) const {
    return forward.options.head_gain ? forward.options.head_gain[head] : 1.0f;
  }

  /// dlse of a row; see row_index.
  [[nodiscard]] float lse_gradient(std::int64_t row) const {
    return inputs.lse_gradient ? inputs.lse_gradient[row] : 0.0f;
  }

  /// The widths of a query and of a value, padded to panels.
  [[nodiscard]] std::int64_t query_width() const;
  [[nodiscard]] std::int64_t value_width() const;

  /// All query rows of kv head `group` of a sequence.
  [[nodiscard]] RowBlock all_rows(const Sequence& sequence, std::int64_t group) const;
  /// Index of a row in a [B, num_heads, Sq] array.
  [[nodiscard]] std::int64_t row_index(const Sequence& sequence, std::int64_t head, std::int64_t i) const;
  /// Rows i, i + 1, ... of `head` in an array like the output.
  [[nodiscard]] RowRun value_rows(ConstArray array, const Sequence& sequence, std::int64_t head, std::int64_t i,
                                  std::int64_t count) const;
};

/// Writes one row of a gradient: values * factor. -0 becomes 0: the sign of a zero may depend on hidden pairs.
void store_gradient(const float* values, float factor, std::int64_t count, std::ptrdiff_t step, float* out);

}  // namespace headwise
