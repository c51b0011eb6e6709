#include "attention/empty_rows.h"

#include <algorithm>

#include "attention/patched_probs.h"
#include "attention/scores.h"

namespace headwise {

Status find_empty_rows(const Call& call) {
  constexpr FormulaRoom kRoom{1, 1, 64};
  Buffer<char> memory;
  const std::int64_t bytes = TileFormulas::bytes(call.formulas, call.kernels, kRoom, 0);
  if (!memory.allocate(bytes)) return Status::out_of_memory(bytes);
  TileFormulas formulas;
  formulas.place(memory.data(), call.formulas, call.kernels, kRoom, 0);
  PatchedProbs patched(call);
  if (Status status = patched.allocate(); !status.ok()) return status;
  Status status;
  for (std::int64_t n = 0; n < call.num_sequences; ++n) {
    const Sequence& sequence = call.sequences[n];
    for (std::int64_t h = 0; h < call.shape.num_heads; ++h) {
      for (std::int64_t i = 0; i < sequence.query_length && status.row_count < Status::kMaxRows; ++i) {
        const QueryRow row{h, i, call.visible_keys(sequence, h, i)};
        formulas.set_rows(call.formulas, formula_sequence(sequence, n, call.shape.head_dim),
                          {i, 1, 1, h, h / call.group_size});
        if (patched.gives(sequence, row) || sees_any_key(call, sequence, row, formulas)) continue;
        status.rows[status.row_count++] = {static_cast<std::int32_t>(n), static_cast<std::int32_t>(h),
                                           static_cast<std::int32_t>(i)};
      }
    }
  }
  if (status.row_count == 0) return status;
  Status error = Status::error(StatusCode::empty_row, "batch %d, head %d, query %d sees no key", status.rows[0].batch,
                               status.rows[0].head, status.rows[0].query);
  std::copy_n(status.rows, status.row_count, error.rows);
  error.row_count = status.row_count;
  return error;
}

}  // namespace headwise
