#include "headwise/attention.h"

#include <algorithm>
#include <span>

#include "attention/attend_tile.h"
#include "attention/call.h"
#include "attention/inspect.h"
#include "attention/plan.h"
#include "attention/rows.h"
#include "attention/softmax.h"
#include "attention/validate.h"
#include "base/memory.h"
#include "base/rules.h"
#include "base/strides.h"
#include "headwise/arrival.h"
#include "headwise/kv_cache.h"
#include "headwise/thread_pool.h"
#include "source/key_value_source.h"

namespace headwise {

namespace {

/// The result of a split: statistics and unnormalised outputs of its rows.
struct SplitResult {
  OnlineSoftmax* softmax;
  float* out;
};

/// Computes a planned call: tiles, then splits united, then what is inspected.
class Evaluation {
 public:
  Evaluation(ThreadPool& pool, const Call& call, Plan& plan)
      : pool_(pool), call_(call), plan_(plan), patched_probs_(call) {}

  Error run();

 private:
  [[nodiscard]] Error allocate();
  void run_task(std::int64_t task, int worker);
  void attend_rows(const Sequence& sequence, const SequencePlan& plan, std::int64_t group, std::int64_t index,
                   TileScratch& scratch);
  void attend_split(const Sequence& sequence, const SequencePlan& plan, std::int64_t group, std::int64_t index,
                    TileScratch& scratch);
  void merge_splits(const Sequence& sequence, const SequencePlan& plan, std::int64_t group);
  [[nodiscard]] bool is_wanted(const Rows& rows) const;
  void finish(const QueryRow& row, const OnlineSoftmax& softmax, float* out);
  [[nodiscard]] SplitResult split_result(const SequencePlan& plan, std::int64_t group, std::int64_t split);
  [[nodiscard]] std::int64_t value_dim() const { return call_.shape.value_dim; }

  ThreadPool& pool_;
  const Call& call_;
  Plan& plan_;
  WantedRows wanted_;
  PatchedProbs patched_probs_;
  Arrays arrays_;
  std::span<char> scratch_;
  std::span<float> split_outs_;
  std::span<OnlineSoftmax> split_softmax_;
  std::span<FinishedSoftmax> statistics_;  ///< [B, num_heads, Sq]; only if the second pass needs them
  std::int64_t scratch_stride_ = 0;
};

Error Evaluation::allocate() {
  if (Error e = wanted_.gather(call_.shape, call_.outputs)) return e;
  if (Error e = patched_probs_.allocate()) return e;
  const bool inspecting = wants_inspection(call_);
  const std::int64_t inspection = inspecting ? inspection_bytes(call_) : 0;
  if (inspection < 0) return refuse(Rule::scratch_size);
  scratch_stride_ = std::max(plan_.scratch_bytes, inspection);
  std::int64_t bytes, outs, rows;
  const std::int64_t query_rows = call_.shape.batch_size * call_.shape.num_heads * call_.shape.query_length;
  if (!multiply_sizes(scratch_stride_, pool_.size(), &bytes) ||
      !multiply_sizes(plan_.split_results, plan_.split_rows, &rows) || !multiply_sizes(rows, value_dim(), &outs))
    return refuse(Rule::scratch_size);
  return arrays_.allocate(scratch_, bytes, split_softmax_, rows, split_outs_, outs, statistics_,
                          inspecting ? query_rows : 0);
}

SplitResult Evaluation::split_result(const SequencePlan& plan, std::int64_t group, std::int64_t split) {
  const std::int64_t first = (plan.first_split_result + group * plan.splits + split) * plan_.split_rows;
  return {split_softmax_.data() + first, split_outs_.data() + first * value_dim()};
}

void Evaluation::finish(const QueryRow& row, const OnlineSoftmax& softmax, float* out) {
  const FinishedSoftmax final = finish_row(call_, row, softmax, out);
  if (!statistics_.empty()) statistics_[call_.row_index(row)] = final;
}

/// Whether some row of the tile is wanted. The whole tile is then computed, so that the bits of a row do not depend on
/// which other rows are wanted.
bool Evaluation::is_wanted(const Rows& rows) const {
  for (std::int64_t r = 0; r < rows.size(); ++r)
    if (wanted_.has(rows.head(r), rows.sequence->query_begin + rows.query(r))) return true;
  return false;
}

void Evaluation::attend_rows(const Sequence& sequence, const SequencePlan& plan, std::int64_t group, std::int64_t index,
                             TileScratch& scratch) {
  const Rows rows = call_.all_rows(sequence, group).part(index * plan.tiles.rows, (index + 1) * plan.tiles.rows);
  if (!is_wanted(rows)) return;
  attend_tile(call_, rows, {0, sequence.key_length}, scratch);
  for (std::int64_t r = 0; r < rows.size(); ++r)
    finish(scratch.tile.row[r], scratch.softmax[r], scratch.out + r * scratch.value_width);
}

void Evaluation::attend_split(const Sequence& sequence, const SequencePlan& plan, std::int64_t group,
                              std::int64_t index, TileScratch& scratch) {
  const Rows rows = call_.all_rows(sequence, group);
  if (!is_wanted(rows)) return;
  attend_tile(call_, rows, {index * plan.tiles.split, std::min((index + 1) * plan.tiles.split, sequence.key_length)},
              scratch);
  const SplitResult result = split_result(plan, group, index);
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    result.softmax[r] = scratch.softmax[r];
    std::copy_n(scratch.out + r * scratch.value_width, value_dim(), result.out + r * value_dim());
  }
}

void Evaluation::merge_splits(const Sequence& sequence, const SequencePlan& plan, std::int64_t group) {
  const Rows rows = call_.all_rows(sequence, group);
  if (!is_wanted(rows)) return;
  const SplitResult total = split_result(plan, group, 0);
  for (std::int64_t r = 0; r < plan.rows; ++r) {
    float* out = total.out + r * value_dim();
    for (std::int64_t split = 1; split < plan.splits; ++split) {
      const SplitResult next = split_result(plan, group, split);
      if (!next.softmax[r].seen) continue;
      float kept, added;
      total.softmax[r].merge(next.softmax[r], &kept, &added);
      const float* values = next.out + r * value_dim();
      for (std::int64_t d = 0; d < value_dim(); ++d) out[d] = out[d] * kept + values[d] * added;
    }
    finish({&sequence, rows.head(r), rows.query(r)}, total.softmax[r], out);
  }
}

void Evaluation::run_task(std::int64_t task, int worker) {
  const SequencePlan* plans = plan_.sequence_plans.data();
  const SequencePlan* plan = std::upper_bound(plans, plans + call_.num_sequences, task,
                                              [](std::int64_t t, const SequencePlan& p) { return t < p.first_task; }) -
                             1;
  const Sequence& sequence = call_.sequences[plan - plans];
  const std::int64_t per_group = plan->row_tiles * plan->splits;
  const std::int64_t group = (task - plan->first_task) / per_group, index = (task - plan->first_task) % per_group;
  if (Arrival* arrival = call_.inputs.arrival) arrival->wait_for((plan - plans) * call_.shape.num_kv_heads + group);
  auto scratch = placed_in<TileScratch>(scratch_.data() + worker * scratch_stride_, call_, plan->tiles);
  if (plan->is_split())
    attend_split(sequence, *plan, group, index, scratch);
  else
    attend_rows(sequence, *plan, group, index, scratch);
}

Error Evaluation::run() {
  if (Error e = allocate()) return e;
  const ThreadPool::Call call(pool_);
  pool_.parallel_for(
      {plan_.tasks, plan_.multiply_adds}, [this](std::int64_t task, int worker) { run_task(task, worker); },
      [this] {
        if (call_.inputs.arrival) call_.inputs.arrival->complete();
      });
  if (plan_.split_results > 0) {
    const std::int64_t groups = call_.shape.num_kv_heads;
    pool_.parallel_for(call_.num_sequences * groups, [&](std::int64_t index, int) {
      const SequencePlan& plan = plan_.sequence_plans[index / groups];
      if (plan.is_split()) merge_splits(call_.sequences[index / groups], plan, index % groups);
    });
  }
  if (wants_inspection(call_)) inspect(pool_, call_, patched_probs_, statistics_.data(), scratch_.data());
  return {};
}

Error attend_from(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                  const AttentionOptions& options, const AttentionOutputs& outputs, const KeyValueSource& source) {
  PreparedCall prepared;
  if (Error e = prepared.prepare(pool, shape, inputs, options)) return e;
  const Call call = prepared.call(shape, inputs, options, outputs, source);
  Plan plan;
  if (Error e = make_plan(call, pool.size(), &plan)) return e;
  if (options.empty_rows == EmptyRows::fail) {
    if (Error e = find_empty_rows(call)) return e;
  }
  return Evaluation(pool, call, plan).run();
}

}  // namespace

Error attend_checked(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                     const AttentionOptions& options, const AttentionOutputs& outputs) {
  if (inputs.cache) return attend_from(pool, shape, inputs, options, outputs, KvCacheSource(*inputs.cache));
  const DenseSource arrays(shape, options.kv_layout.value_or(options.layout), inputs.key, inputs.value);
  return attend_from(pool, shape, inputs, options, outputs, arrays);
}

Status attention(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                 const AttentionOptions& options, const AttentionOutputs& outputs) {
  if (inputs.cache) return inputs.cache->attend(pool, shape, inputs, options, outputs);
  if (Error e = validate(shape, inputs, options, outputs)) return e;
  return attend_checked(pool, shape, inputs, options, outputs);
}

}  // namespace headwise
