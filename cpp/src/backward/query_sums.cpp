#include "backward/query_sums.h"

#include <algorithm>
#include <limits>

#include "base/memory.h"

namespace headwise {

namespace {

std::int64_t place_sums(QuerySums& sums, char* memory, const GradientCall& call, std::int64_t count) {
  Placement place(memory);
  // Products write whole steps of rows.
  const std::int64_t padded = round_up(count, call.kernels().row_step);
  sums.gradient = call.outputs.query ? place.take<float>(padded, call.query_width()) : nullptr;
  sums.rows = place.take<RowSums>(count);
  return place.total();
}

}  // namespace

std::int64_t QuerySums::bytes(const GradientCall& call, std::int64_t count) {
  QuerySums sums;
  return place_sums(sums, nullptr, call, count);
}

void QuerySums::place(char* memory, const GradientCall& call, std::int64_t count) {
  place_sums(*this, memory, call, count);
}

void QuerySums::clear(const GradientCall& call, std::int64_t count) {
  if (gradient) std::fill_n(gradient, count * call.query_width(), 0.0f);
  std::fill_n(rows, count, RowSums());
}

void QuerySums::add(const QuerySums& other, const GradientCall& call, std::int64_t count) {
  for (std::int64_t n = 0; gradient && n < count * call.query_width(); ++n) gradient[n] += other.gradient[n];
  for (std::int64_t r = 0; r < count; ++r) rows[r].add(other.rows[r]);
}

void QuerySums::store(const GradientCall& call, const RowBlock& block, HeadSums* heads) const {
  const Call& forward = call.forward;
  const Sequence& sequence = *block.sequence;
  const Strides& strides = forward.query;
  for (std::int64_t r = block.begin; r < block.end; ++r) {
    const std::int64_t head = block.head(r), i = block.query(r), depth = forward.shape.head_dim;
    if (gradient) {
      float* const out = call.outputs.query + sequence.batch * strides.batch + head * strides.head +
                         (sequence.query_begin + i) * strides.position;
      store_gradient(gradient + r * call.query_width(), forward.scale, depth, strides.feature, out);
      if (forward.options.empty_rows == EmptyRows::nan && !rows[r].sees && i < sequence.query_length)
        for (std::int64_t d = 0; d < depth; ++d) out[d * strides.feature] = std::numeric_limits<float>::quiet_NaN();
    }
    if (heads) heads[head].add_row(call, head, call.row_index(sequence, head, i), rows[r]);
  }
}

}  // namespace headwise
