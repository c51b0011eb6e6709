#pragma once

#include <cstdint>

#include "headwise/attention.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// A selection of `all_heads` heads and `all_rows` rows, with its defaults filled in.
struct Chosen {
  const Selection& selection;
  std::int64_t all_heads, all_rows;

  [[nodiscard]] std::int64_t heads() const { return selection.heads ? selection.num_heads : all_heads; }
  [[nodiscard]] std::int64_t rows() const { return selection.queries ? selection.num_queries : all_rows; }
  [[nodiscard]] std::int64_t head(std::int64_t n) const { return selection.heads ? selection.heads[n] : n; }
  [[nodiscard]] std::int64_t row(std::int64_t n) const { return selection.queries ? selection.queries[n] : n; }
  /// Extent of the head axis: 1 when averaged.
  [[nodiscard]] std::int64_t output_heads() const { return selection.average ? 1 : heads(); }
  [[nodiscard]] bool is_everything() const { return !selection.heads && !selection.queries; }
};

/// A selection of the call's heads and query rows.
[[nodiscard]] inline Chosen chosen_queries(const AttentionShape& shape, const Selection& selection) {
  return {selection, shape.num_heads, shape.query_length};
}

/// Calls visit(b, head, row, place) for each chosen row. It is row `place` of [B, chosen heads, chosen rows].
template <class Visit>
void for_each_chosen_row(ThreadPool& pool, std::int64_t batch_size, const Chosen& chosen, Visit visit) {
  pool.parallel_for(batch_size * chosen.heads(), [&](std::int64_t task, int) {
    const std::int64_t b = task / chosen.heads(), head = chosen.head(task % chosen.heads());
    for (std::int64_t r = 0; r < chosen.rows(); ++r) visit(b, head, chosen.row(r), task * chosen.rows() + r);
  });
}

}  // namespace headwise
