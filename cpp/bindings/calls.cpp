#include "calls.h"

#include <memory>

namespace headwise {

Status run(ThreadPool& pool, const AttentionCall& call) {
  if (call.grows) {
    const AttentionInputs& inputs = call.inputs;
    const NewTokens tokens{call.options.kv_layout.value_or(call.options.layout),
                           call.num_tokens,
                           inputs.key,
                           inputs.value,
                           call.append_lengths,
                           inputs.query_positions,
                           inputs.query_position_planes};
    return call.grows->step(pool, tokens, call.shape, inputs, call.options, call.outputs, call.inside);
  }
  if (call.inputs.cache)
    return call.inputs.cache->attend(pool, call.shape, call.inputs, call.options, call.outputs, call.inside);
  return attention(pool, call.shape, call.inputs, call.options, call.outputs);
}

Status run(ThreadPool& pool, const BackwardCall& call) {
  const ScoreDerivative* derivative = call.options.score ? &call.derivative : nullptr;
  const BackwardInputs inputs{call.inputs, call.output, call.lse, call.output_gradient, derivative, call.lse_gradient};
  return attention_backward(pool, call.shape, inputs, call.options, call.gradients);
}

Status run(ThreadPool& pool, const MergeCall& call) {
  return merge_attention(pool, call.shape, call.layout, call.parts, call.num_parts, call.sinks, call.output, call.lse);
}

Status run(ThreadPool& pool, const RotaryCall& call) {
  const RotaryOptions& options = call.options;
  if (call.cosines)
    return rotary_embedding(pool, call.layout, call.batch_size, call.num_heads, call.length, call.head_dim,
                            options.rotary_dim, options.interleaved, call.x, call.cosines, call.sines, call.table_rows,
                            call.rows, call.y);
  return rotary_embedding_at(pool, call.layout, call.batch_size, call.num_heads, call.length, call.head_dim, options,
                             call.x, call.positions, call.y);
}

namespace {

/// Runs an operation on a cache. What `made` then holds is the result.
using RunOnCache = Status (*)(ThreadPool& pool, const CacheCall& call, std::unique_ptr<KvCache>* made);

Status create_cache(ThreadPool&, const CacheCall& call, std::unique_ptr<KvCache>* made) {
  KvCacheShape shape = call.shape;
  if (call.turns) shape.rotary = call.rotary;
  return KvCache::create(shape, made);
}

Status append(ThreadPool& pool, const CacheCall& call, std::unique_ptr<KvCache>*) {
  return call.cache->append(
      pool, {call.layout, call.num_tokens, call.key, call.value, call.lengths, call.positions, call.position_planes});
}

Status rewind(ThreadPool&, const CacheCall& call, std::unique_ptr<KvCache>*) {
  return call.cache->rewind_each(call.lengths);
}

Status fork(ThreadPool&, const CacheCall& call, std::unique_ptr<KvCache>* made) { return call.cache->fork(made); }

Status slice(ThreadPool&, const CacheCall& call, std::unique_ptr<KvCache>* made) {
  return call.cache->slice(call.from, call.to, made);
}

Status save_cache(ThreadPool&, const CacheCall& call, std::unique_ptr<KvCache>*) {
  return call.cache->save(call.bytes, call.size);
}

Status load_cache(ThreadPool&, const CacheCall& call, std::unique_ptr<KvCache>* made) {
  return KvCache::load(call.bytes, call.size, made);
}

Status select(ThreadPool&, const CacheCall& call, std::unique_ptr<KvCache>*) {
  return call.cache->select(call.indices);
}

Status keep(ThreadPool& pool, const CacheCall& call, std::unique_ptr<KvCache>*) {
  return call.cache->keep(pool, call.kept);
}

// In the order of CacheOperation. A table, and no `switch`: the optimiser would move save and load into `run`, and they
// belong to the late part of a wasm module.
constexpr RunOnCache kOperations[] = {create_cache, append, rewind, fork, slice, save_cache, load_cache, select, keep};

}  // namespace

Status run(ThreadPool& pool, const CacheCall& call) {
  std::unique_ptr<KvCache> made;
  const Status status = kOperations[static_cast<int>(call.operation)](pool, call, &made);
  call.result = made.release();
  return status;
}

Status run(ThreadPool&, const LayerCreation& call) {
  std::unique_ptr<Layer> layer;
  const Status status = Layer::create(call.shape, call.weights, call.options, &layer);
  call.result = layer.release();
  return status;
}

Status run(ThreadPool& pool, const LayerCall& call) {
  std::unique_ptr<SavedForward> saved;
  const Status status = call.layer->forward(pool, call.layer_inputs, call.inputs, call.options, call.outputs,
                                            call.saves ? &saved : nullptr, call.views);
  call.saved = saved.release();
  return status;
}

Status run(ThreadPool& pool, const LayerBackwardCall& call) {
  const ScoreDerivative* derivative = call.derivative.formula.num_instructions > 0 ? &call.derivative : nullptr;
  return call.layer->backward(pool, *call.saved, {call.output_gradient, derivative, call.lse_gradient}, call.gradients);
}

Status run(ThreadPool&, const LayerUpdateCall& call) { return call.layer->update(call.update); }

Status run(ThreadPool& pool, const LinearCall& call) {
  if (!call.in_panels) return linear(pool, call.shape, call.x, call.weights, call.y);
  return linear(pool, call.shape, call.x, PanelWeights{call.weights.weight, call.weights.bias}, call.y);
}

Status run(ThreadPool& pool, const LinearBackwardCall& call) {
  return linear_backward(pool, call.shape, call.x, call.weights, call.output_gradient, call.gradients);
}

}  // namespace headwise
