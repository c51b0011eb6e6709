#include "headwise/attention.h"

#include <algorithm>
#include <cmath>

#include "attention/attend_tile.h"
#include "attention/finish.h"
#include "attention/inspect.h"
#include "attention/inspection_scratch.h"
#include "attention/validate.h"
#include "attention/wanted_rows.h"
#include "base/sizes.h"
#include "base/strides.h"
#include "base/workspace.h"
#include "headwise/arrival.h"
#include "headwise/thread_pool.h"
#include "source/dense_source.h"
#include "source/kv_cache_source.h"

namespace headwise {

namespace {

/// The tiles of one sequence: rows x splits for every kv head.
struct SequencePlan {
  TileSizes tiles;
  std::int64_t rows;  ///< group size * queries
  std::int64_t row_tiles, splits;
  std::int64_t first_task;  ///< tasks are numbered through all sequences
  std::int64_t first_part;  ///< likewise the partial results, one per (kv head, split) of a split sequence

  [[nodiscard]] bool is_split() const { return tiles.split > 0; }
};

struct Plan {
  Buffer<Sequence> sequences;
  Buffer<SequencePlan> sequence_plans;
  std::int64_t num_sequences = 0;
  std::int64_t tasks = 0, parts = 0;
  std::int64_t part_rows = 0;      ///< rows of the largest partial result
  std::int64_t scratch_bytes = 0;  ///< of the largest tile
};

/// What a split leaves behind: its rows' statistics and unnormalised outputs.
struct Part {
  OnlineSoftmax* softmax;
  float* out;
};

class Engine {
 public:
  Engine(ThreadPool& pool, const Call& call, Plan& plan) : pool_(pool), call_(call), plan_(plan) {}

  Status run();

 private:
  [[nodiscard]] Status allocate();
  void run_task(std::int64_t task, int worker);
  void attend_rows(const Sequence& sequence, const SequencePlan& plan, std::int64_t group, std::int64_t index,
                   TileScratch& scratch);
  void attend_split(const Sequence& sequence, const SequencePlan& plan, std::int64_t group, std::int64_t index,
                    TileScratch& scratch);
  void merge_splits(const Sequence& sequence, const SequencePlan& plan, std::int64_t group);
  [[nodiscard]] bool is_wanted(const RowTile& rows) const;
  void finish(const Sequence& sequence, const QueryRow& row, const OnlineSoftmax& softmax, float* out);
  [[nodiscard]] Part part(const SequencePlan& plan, std::int64_t group, std::int64_t split);
  [[nodiscard]] std::int64_t part_width() const { return call_.shape.value_dim; }

  ThreadPool& pool_;
  const Call& call_;
  Plan& plan_;
  WantedRows wanted_;
  Buffer<char> scratch_;
  Buffer<float> part_outs_;
  Buffer<OnlineSoftmax> part_softmax_;
  Buffer<FinishedSoftmax> statistics_;  ///< [B, num_heads, Sq], only if the second pass needs them
  std::int64_t scratch_stride_ = 0;
};

Status make_plan(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                 const KernelTable& kernels, Plan* plan) {
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
                            kernels.panel_width, kernels.row_step});
    p.row_tiles = (p.rows + p.tiles.rows - 1) / p.tiles.rows;
    p.splits = p.is_split() ? (sequence.key_length + p.tiles.split - 1) / p.tiles.split : 1;
    p.first_task = plan->tasks;
    p.first_part = plan->parts;
    plan->tasks += shape.num_kv_heads * p.row_tiles * p.splits;
    if (p.is_split()) {
      plan->parts += shape.num_kv_heads * p.splits;
      plan->part_rows = std::max(plan->part_rows, p.rows);
    }
    const std::int64_t bytes = TileScratch::bytes(p.tiles, shape, kernels);
    if (bytes < 0) return Status::error(StatusCode::invalid_shape, "a tile is too large to address");
    plan->scratch_bytes = std::max(plan->scratch_bytes, bytes);
  }
  return {};
}

Status Engine::allocate() {
  if (Status status = wanted_.gather(call_.shape, call_.outputs); !status.ok()) return status;
  const bool inspecting = wants_inspection(call_.outputs);
  const std::int64_t inspection = inspecting ? inspection_bytes(call_) : 0;
  if (inspection < 0) return Status::error(StatusCode::invalid_shape, "a block of probs is too large to address");
  scratch_stride_ = std::max(plan_.scratch_bytes, inspection);
  std::int64_t bytes, outs, rows;
  const std::int64_t query_rows = call_.shape.batch_size * call_.shape.num_heads * call_.shape.query_length;
  if (!multiply_sizes(scratch_stride_, pool_.size(), &bytes) || !multiply_sizes(plan_.parts, plan_.part_rows, &rows) ||
      !multiply_sizes(rows, part_width(), &outs))
    return Status::error(StatusCode::invalid_shape, "the scratch is too large to address");
  if (!scratch_.allocate(bytes)) return Status::out_of_memory(bytes);
  if (!part_softmax_.allocate(rows) || !part_outs_.allocate(outs))
    return Status::out_of_memory(outs * static_cast<std::int64_t>(sizeof(float)));
  if (inspecting && !statistics_.allocate(query_rows))
    return Status::out_of_memory(query_rows * static_cast<std::int64_t>(sizeof(FinishedSoftmax)));
  return {};
}

Part Engine::part(const SequencePlan& plan, std::int64_t group, std::int64_t split) {
  const std::int64_t first = (plan.first_part + group * plan.splits + split) * plan_.part_rows;
  return {part_softmax_.data() + first, part_outs_.data() + first * part_width()};
}

void Engine::finish(const Sequence& sequence, const QueryRow& row, const OnlineSoftmax& softmax, float* out) {
  const FinishedSoftmax final = finish_row(call_, sequence, row, softmax, out);
  if (statistics_) statistics_[row_index(call_, sequence, row)] = final;
}

/// A tile is computed whole or not at all, so that what a row yields does not depend on what else is wanted.
bool Engine::is_wanted(const RowTile& rows) const {
  for (std::int64_t r = rows.begin; r < rows.end; ++r)
    if (wanted_.has(rows.group * call_.group_size + r % call_.group_size,
                    rows.sequence->query_begin + r / call_.group_size))
      return true;
  return false;
}

void Engine::attend_rows(const Sequence& sequence, const SequencePlan& plan, std::int64_t group, std::int64_t index,
                         TileScratch& scratch) {
  const RowTile rows{&sequence, group, index * plan.tiles.rows, std::min((index + 1) * plan.tiles.rows, plan.rows)};
  if (!is_wanted(rows)) return;
  load_queries(call_, rows, scratch);
  attend_tile(call_, rows, {0, sequence.key_length}, scratch);
  for (std::int64_t r = 0; r < rows.size(); ++r)
    finish(sequence, scratch.query_rows[r], scratch.softmax[r], scratch.out + r * scratch.value_width);
}

void Engine::attend_split(const Sequence& sequence, const SequencePlan& plan, std::int64_t group, std::int64_t index,
                          TileScratch& scratch) {
  const RowTile rows{&sequence, group, 0, plan.rows};
  if (!is_wanted(rows)) return;
  load_queries(call_, rows, scratch);
  attend_tile(call_, rows, {index * plan.tiles.split, std::min((index + 1) * plan.tiles.split, sequence.key_length)},
              scratch);
  const Part result = part(plan, group, index);
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    result.softmax[r] = scratch.softmax[r];
    std::copy_n(scratch.out + r * scratch.value_width, part_width(), result.out + r * part_width());
  }
}

void Engine::merge_splits(const Sequence& sequence, const SequencePlan& plan, std::int64_t group) {
  if (!is_wanted({&sequence, group, 0, plan.rows})) return;
  const Part total = part(plan, group, 0);
  for (std::int64_t r = 0; r < plan.rows; ++r) {
    float* out = total.out + r * part_width();
    for (std::int64_t split = 1; split < plan.splits; ++split) {
      const Part next = part(plan, group, split);
      if (!next.softmax[r].seen) continue;
      float kept, added;
      total.softmax[r].merge(next.softmax[r], &kept, &added);
      const float* values = next.out + r * part_width();
      for (std::int64_t d = 0; d < part_width(); ++d) out[d] = out[d] * kept + values[d] * added;
    }
    QueryRow row;
    row.head = group * call_.group_size + r % call_.group_size;
    row.i = r / call_.group_size;
    finish(sequence, row, total.softmax[r], out);
  }
}

void Engine::run_task(std::int64_t task, int worker) {
  const SequencePlan* plans = plan_.sequence_plans.data();
  const SequencePlan* plan = std::upper_bound(plans, plans + plan_.num_sequences, task,
                                              [](std::int64_t t, const SequencePlan& p) { return t < p.first_task; }) -
                             1;
  const Sequence& sequence = plan_.sequences[plan - plans];
  const std::int64_t per_group = plan->row_tiles * plan->splits;
  const std::int64_t group = (task - plan->first_task) / per_group, index = (task - plan->first_task) % per_group;
  if (Arrival* arrival = call_.inputs.arrival) arrival->wait_for((plan - plans) * call_.shape.num_kv_heads + group);
  TileScratch scratch;
  scratch.place(scratch_.data() + worker * scratch_stride_, plan->tiles, call_.shape, call_.kernels);
  if (plan->is_split())
    attend_split(sequence, *plan, group, index, scratch);
  else
    attend_rows(sequence, *plan, group, index, scratch);
}

Status Engine::run() {
  if (Status status = allocate(); !status.ok()) return status;
  pool_.parallel_for(
      plan_.tasks, [this](std::int64_t task, int worker) { run_task(task, worker); },
      [this] {
        if (call_.inputs.arrival) call_.inputs.arrival->complete();
      });
  if (plan_.parts > 0) {
    const std::int64_t groups = call_.shape.num_kv_heads;
    pool_.parallel_for(plan_.num_sequences * groups, [&](std::int64_t index, int) {
      const SequencePlan& plan = plan_.sequence_plans[index / groups];
      if (plan.is_split()) merge_splits(plan_.sequences[index / groups], plan, index % groups);
    });
  }
  if (wants_inspection(call_.outputs)) inspect(pool_, call_, statistics_.data(), scratch_.data());
  return {};
}

/// EmptyRows::fail: the first rows that see no key, found by visibility alone.
Status find_empty_rows(const Call& call) {
  Status status;
  for (std::int64_t n = 0; n < call.num_sequences; ++n) {
    const Sequence& sequence = call.sequences[n];
    for (std::int64_t h = 0; h < call.shape.num_heads; ++h) {
      for (std::int64_t i = 0; i < sequence.query_length && status.row_count < Status::kMaxRows; ++i) {
        const QueryRow row{h, i, call.visible_keys(sequence, i)};
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

Status attend(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
              const AttentionOptions& options, const AttentionOutputs& outputs, const KeyValueSource& source) {
  const KernelTable& kernels = kernel_table();
  Plan plan;
  if (Status status = make_plan(shape, inputs, options, kernels, &plan); !status.ok()) return status;
  const float scale = options.scale.value_or(1.0f / std::sqrt(static_cast<float>(shape.head_dim)));
  const Call call{shape,
                  inputs,
                  options,
                  outputs,
                  kernels,
                  source,
                  scale,
                  shape.num_heads / shape.num_kv_heads,
                  key_length_of(shape, inputs),
                  plan.num_sequences,
                  plan.sequences.data(),
                  strides_of(options.layout, shape.num_heads, shape.query_length, shape.head_dim),
                  strides_of(options.layout, shape.num_heads, shape.query_length, shape.value_dim)};
  if (options.empty_rows == EmptyRows::fail) {
    if (Status status = find_empty_rows(call); !status.ok()) return status;
  }
  return Engine(pool, call, plan).run();
}

}  // namespace

Status attention(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                 const AttentionOptions& options, const AttentionOutputs& outputs) {
  if (Status status = validate(shape, inputs, options, outputs); !status.ok()) return status;
  if (inputs.cache) return attend(pool, shape, inputs, options, outputs, KvCacheSource(*inputs.cache));
  return attend(pool, shape, inputs, options, outputs, DenseSource(shape, options.layout, inputs.key, inputs.value));
}

}  // namespace headwise
