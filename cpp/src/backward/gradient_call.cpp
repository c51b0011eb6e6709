#include "backward/gradient_call.h"

#include "base/memory.h"

namespace headwise {

std::int64_t GradientCall::query_width() const { return round_up(forward.shape.head_dim, kernels().panel_width); }

std::int64_t GradientCall::value_width() const { return round_up(forward.shape.value_dim, kernels().panel_width); }

RowBlock GradientCall::all_rows(const Sequence& sequence, std::int64_t group) const {
  const std::int64_t heads = forward.group_size;
  return {&sequence, group, group * heads, heads, 0, heads * sequence.num_queries};
}

std::int64_t GradientCall::row_index(const Sequence& sequence, std::int64_t head, std::int64_t i) const {
  return (sequence.batch * forward.shape.num_heads + head) * forward.shape.query_length + sequence.query_begin + i;
}

RowRun GradientCall::value_rows(ConstArray array, const Sequence& sequence, std::int64_t head, std::int64_t i,
                                std::int64_t count) const {
  return row_run(array, forward.output, sequence.batch, head, sequence.query_begin + i, count);
}

void store_gradient(const float* values, float factor, std::int64_t count, std::ptrdiff_t step, float* out) {
  for (std::int64_t d = 0; d < count; ++d) out[d * step] = values[d] * factor + 0.0f;
}

}  // namespace headwise
