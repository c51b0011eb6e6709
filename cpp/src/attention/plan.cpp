#include "attention/plan.h"

#include <algorithm>

#include "attention/attend_tile.h"

namespace headwise {

Status make_plan(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                 const CallFormulas& formulas, const KernelTable& kernels, int threads, Plan* plan) {
  plan->num_sequences = count_sequences(shape, options);
  if (!plan->sequences.allocate(plan->num_sequences) || !plan->sequence_plans.allocate(plan->num_sequences))
    return Status::out_of_memory(plan->num_sequences * static_cast<std::int64_t>(sizeof(Sequence)));
  resolve_sequences(shape, inputs, options, plan->sequences.data());
  const std::int64_t group_size = shape.num_heads / shape.num_kv_heads;
  for (std::int64_t n = 0; n < plan->num_sequences; ++n) {
    const Sequence& sequence = plan->sequences[n];
    SequencePlan& p = plan->sequence_plans[n];
    p.rows = group_size * sequence.num_queries;
    p.tiles = choose_tiles({shape.num_kv_heads, p.rows, sequence.key_length, shape.head_dim, shape.value_dim,
                            kernels.panel_width, kernels.row_step, threads});
    p.row_tiles = (p.rows + p.tiles.rows - 1) / p.tiles.rows;
    p.splits = p.is_split() ? (sequence.key_length + p.tiles.split - 1) / p.tiles.split : 1;
    p.first_task = plan->tasks;
    p.first_split_result = plan->split_results;
    plan->tasks += shape.num_kv_heads * p.row_tiles * p.splits;
    if (p.is_split()) {
      plan->split_results += shape.num_kv_heads * p.splits;
      plan->split_rows = std::max(plan->split_rows, p.rows);
    }
    const std::int64_t bytes = TileScratch::bytes(p.tiles, shape, kernels, formulas);
    if (bytes < 0) return Status::error(StatusCode::invalid_shape, "a tile is too large to address");
    plan->scratch_bytes = std::max(plan->scratch_bytes, bytes);
  }
  return {};
}

}  // namespace headwise
