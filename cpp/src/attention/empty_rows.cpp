#include "attention/empty_rows.h"

#include <algorithm>

#include "attention/scores.h"

namespace headwise {

Status find_empty_rows(const Call& call) {
  Status status;
  for (std::int64_t n = 0; n < call.num_sequences; ++n) {
    const Sequence& sequence = call.sequences[n];
    for (std::int64_t h = 0; h < call.shape.num_heads; ++h) {
      for (std::int64_t i = 0; i < sequence.query_length && status.row_count < Status::kMaxRows; ++i) {
        const QueryRow row{h, i, call.visible_keys(sequence, h, i)};
        if (sees_any_key(call, sequence, row)) continue;
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
