#include "backward/head_sums.h"

#include <cmath>

namespace headwise {

void HeadSums::add_row(const GradientCall& call, std::int64_t head, std::int64_t row_index, const RowSums& row) {
  if (!row.sees) return;  // its lse and its output have no meaning
  gain += row.reached;
  slope -= row.distances;
  if (!call.outputs.sinks) return;
  const double rest = call.lse_rest ? call.lse_rest[row_index] : 0.0f;
  const double sink_share =
      std::exp(static_cast<double>(call.forward.options.sinks[head]) - static_cast<double>(call.lse[row_index]) - rest);
  const double delta = call.gain(head) == 0.0f ? 0.0 : call.gain(head) * row.reached;
  sink -= sink_share * (delta - call.lse_gradient(row_index));
}

bool wants_head_sums(const BackwardOutputs& outputs) {
  return outputs.sinks || outputs.head_gain || outputs.alibi_slopes;
}

void store_head_sums(const GradientCall& call, const HeadSums* sums) {
  const std::int64_t heads = call.forward.shape.num_heads;
  for (std::int64_t h = 0; h < heads; ++h) {
    HeadSums total;
    for (std::int64_t n = 0; n < call.forward.num_sequences; ++n) total.add(sums[n * heads + h]);
    if (call.outputs.head_gain) call.outputs.head_gain[h] = static_cast<float>(total.gain);
    if (call.outputs.sinks) call.outputs.sinks[h] = static_cast<float>(total.sink);
    if (call.outputs.alibi_slopes) call.outputs.alibi_slopes[h] = static_cast<float>(total.slope);
  }
}

}  // namespace headwise
