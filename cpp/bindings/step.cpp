#include "step.h"

#include <algorithm>

#include "base/memory.h"

namespace headwise {

Status run(ThreadPool& pool, const NormedRows& call) { return norm_rows(pool, call); }
Status run(ThreadPool& pool, const MappedRows& call) { return map_rows(pool, call); }
Status run(ThreadPool& pool, const TakenRows& call) { return take_rows(pool, call); }
Status run(ThreadPool& pool, const SoftmaxRows& call) { return softmax_rows(pool, call); }
Status run(ThreadPool& pool, const TopRows& call) { return top_rows(pool, call); }

Status run(ThreadPool& pool, const TurnedTokens& call) {
  if (!call.numbers) return run(pool, *call.turn);
  RotaryCall turn = *call.turn;
  const std::int64_t count = turn.batch_size * turn.length;
  std::copy_n(call.numbers, count, call.positions);
  if (call.follows_length && count > 0)
    turn.options.sequence_length = *std::max_element(call.positions, call.positions + count) + 1;
  return run(pool, turn);
}

namespace {

template <class Call>
Status run_part(ThreadPool& pool, const void* call) {
  return run(pool, *static_cast<const Call*>(call));
}

// In the order of StepKind.
constexpr Status (*kRun[])(ThreadPool&, const void*) = {
    run_part<LayerCall>,   run_part<LinearCall>, run_part<NormedRows>,   run_part<MappedRows>,   run_part<TakenRows>,
    run_part<SoftmaxRows>, run_part<TopRows>,    run_part<TurnedTokens>, run_part<AttentionCall>};

/// The inputs of a part that appends to a cache, or null.
const LayerInputs* appending(const StepPart& part) {
  if (part.kind != StepKind::layer) return nullptr;
  const LayerInputs& inputs = static_cast<const LayerCall*>(part.call)->layer_inputs;
  return inputs.cache && !inputs.attend_only ? &inputs : nullptr;
}

/// Takes back what a part has appended: as many tokens in each batch as its queries.
void undo(const StepPart& part, Buffer<std::int32_t>& lengths) {
  const LayerInputs* const inputs = appending(part);
  if (!inputs) return;
  for (std::int64_t b = 0; b < inputs->batch_size; ++b)
    lengths[b] = static_cast<std::int32_t>(inputs->cache->appended(b) - inputs->query_length);
  (void)inputs->cache->rewind_each(lengths.data());
}

}  // namespace

Status run(ThreadPool& pool, const StepCall& call) {
  std::int64_t batches = 0;
  for (std::int32_t n = 0; n < call.num_parts; ++n)
    if (const LayerInputs* inputs = appending(call.parts[n])) batches = std::max(batches, inputs->batch_size);
  Buffer<std::int32_t> lengths;
  if (Error e = lengths.allocate(batches)) return e;
  const ThreadPool::Call awake(pool);
  for (std::int32_t n = 0; n < call.num_parts; ++n) {
    const Status status = kRun[static_cast<int>(call.parts[n].kind)](pool, call.parts[n].call);
    if (status.ok()) continue;
    while (--n >= 0) undo(call.parts[n], lengths);
    return status;
  }
  return {};
}

}  // namespace headwise
