#include "attention/plan.h"

#include <algorithm>

#include "attention/attend_tile.h"

namespace headwise {

Status make_plan(const Call& call, int threads, Plan* plan) {
  const AttentionShape& shape = call.shape;
  if (!plan->sequence_plans.allocate(call.num_sequences))
    return Status::out_of_memory(call.num_sequences * static_cast<std::int64_t>(sizeof(SequencePlan)));
  for (std::int64_t n = 0; n < call.num_sequences; ++n) {
    const Sequence& sequence = call.sequences[n];
    SequencePlan& p = plan->sequence_plans[n];
    p.rows = call.group_size * sequence.num_queries;
    p.tiles = choose_tiles({shape.num_kv_heads, p.rows, sequence.key_length, shape.head_dim, shape.value_dim,
                            call.kernels.panel_width, call.kernels.row_step, threads});
    p.row_tiles = (p.rows + p.tiles.rows - 1) / p.tiles.rows;
    p.splits = p.is_split() ? (sequence.key_length + p.tiles.split - 1) / p.tiles.split : 1;
    p.first_task = plan->tasks;
    p.first_split_result = plan->split_results;
    plan->tasks += shape.num_kv_heads * p.row_tiles * p.splits;
    if (p.is_split()) {
      plan->split_results += shape.num_kv_heads * p.splits;
      plan->split_rows = std::max(plan->split_rows, p.rows);
    }
    const std::int64_t bytes = TileScratch::bytes(p.tiles, shape, call.kernels, call.formulas);
    if (bytes < 0) return Status::error(StatusCode::invalid_shape, "a tile is too large to address");
    plan->scratch_bytes = std::max(plan->scratch_bytes, bytes);
  }
  return {};
}

}  // namespace headwise
