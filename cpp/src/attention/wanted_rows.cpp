#include "attention/wanted_rows.h"

#include <algorithm>

namespace headwise {

Status WantedRows::gather(const AttentionShape& shape, const AttentionOutputs& outputs) {
  const auto is_everything = [](const Selection& selection) { return !selection.heads && !selection.queries; };
  all_ = outputs.output.data || outputs.lse || outputs.entropy ||
         (outputs.probs && is_everything(outputs.probs_selection)) ||
         (outputs.top_k_values && is_everything(outputs.top_k_selection));
  if (all_) return {};
  query_length_ = shape.query_length;
  const std::int64_t rows = shape.num_heads * shape.query_length;
  if (!wanted_.allocate(rows)) return Status::out_of_memory(rows);
  std::fill_n(wanted_.data(), rows, std::uint8_t{0});
  if (outputs.probs) add(shape, outputs.probs_selection);
  if (outputs.top_k_values) add(shape, outputs.top_k_selection);
  return {};
}

void WantedRows::add(const AttentionShape& shape, const Selection& selection) {
  const std::int64_t heads = selection.heads ? selection.num_heads : shape.num_heads;
  const std::int64_t queries = selection.queries ? selection.num_queries : shape.query_length;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < queries; ++i)
      wanted_[(selection.heads ? selection.heads[h] : h) * query_length_ +
              (selection.queries ? selection.queries[i] : i)] = 1;
}

}  // namespace headwise
