#include "layer/forward.h"

#include <algorithm>

#include "attention/validate.h"
#include "cache/append.h"
#include "cache/attend_cached.h"
#include "layer/head_steps.h"

namespace headwise {

Forward::Forward(const Layer::Packed& layer, ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
                 const AttentionOptions& options, const AttentionOutputs& outputs, const LayerViews& views, bool saves)
    : layer_(layer),
      pool_(pool),
      inputs_(inputs),
      options_(options),
      outputs_(outputs),
      views_(views),
      // without Wo the heads are Y itself, and lie in the order of Y
      heads_layout_(layer.shape.output_projection ? Layout::bse : inputs.layout),
      key_length_(inputs.key_context.data || inputs.value_context.data ? inputs.key_length : inputs.query_length),
      saves_(saves) {
  if (options.score) options_.score = &(score_ = *options.score);
  if (options.visible) options_.visible = &(visible_ = *options.visible);
  attention_inputs_.mask = masks.mask;
  attention_inputs_.mask_extents = masks.mask_extents;
  attention_inputs_.bias = masks.bias;
  attention_inputs_.bias_extents = masks.bias_extents;
  attention_inputs_.probs = masks.probs;
  attention_inputs_.cache = inputs.cache;
  if (inputs.cache && inputs.cache->shape().rotary) {
    attention_inputs_.query_positions = inputs.positions.data;
    attention_inputs_.query_position_planes = inputs.positions.planes;
  }
  options_.layout = heads_layout_;
  options_.kv_layout = heads_layout_;
  const LayerShape& s = layer.shape;
  shape_ = {inputs.batch_size, s.num_heads, s.num_kv_heads,  inputs.query_length,
            key_length_,       s.head_dim,  s.value_head_dim};
  const bool keys_from_x = !inputs.key_context.data;
  const std::int32_t* x_lengths = keys_from_x ? options.query_lengths : nullptr;
  if (appends()) growth_ = {key_length_, inputs.append_lengths ? inputs.append_lengths : x_lengths};
}

namespace {

std::int64_t projection_scratch(const Layer::Packed& layer) {
  return std::max({layer.query.scratch_floats(), layer.key.scratch_floats(), layer.value.scratch_floats(),
                   layer.output.scratch_floats(), layer.shape.head_dim});
}

}  // namespace

Error Forward::allocate() {
  const std::int64_t query_tokens = inputs_.batch_size * inputs_.query_length;
  const std::int64_t key_tokens = projects_keys() ? inputs_.batch_size * key_length_ : 0;
  const std::int64_t query_width = layer_.query_width(), key_width = layer_.key_width();
  const std::int64_t chosen = views_.contributions.data ? chosen_rows(views_.contributions.selection) : 0;
  const std::int64_t planes = inputs_.positions.planes;
  if (Error e = scratch_.allocate(pool_.size() * projection_scratch(layer_))) return e;
  return arrays_.allocate(query_, query_tokens * query_width, key_, key_tokens * key_width,  //
                          value_, key_tokens * layer_.value_width(),                         //
                          heads_, keeps_heads() ? query_tokens * layer_.heads_width() : 0,   //
                          chosen_heads_, chosen * layer_.shape.value_head_dim,               //
                          raw_query_, keeps_raw_heads() ? query_tokens * query_width : 0,    //
                          raw_key_, keeps_raw_heads() ? key_tokens * key_width : 0,          //
                          lse_, saves_ ? query_tokens * layer_.shape.num_heads : 0,          //
                          query_positions_, planes * query_tokens,                           //
                          key_positions_, planes * key_tokens,                               //
                          sequences_, count_sequences(shape_, options_),                     //
                          lengths_before_, inputs_.batch_size);
}

Error Forward::attend() {
  attention_inputs_.query.data = query_.data();
  attention_inputs_.key.data = key_.data();
  attention_inputs_.value.data = value_.data();
  AttentionOutputs outputs = outputs_;
  if (!heads_.empty()) outputs.output = {heads_.data(), Dtype::float32};
  if (!lse_.empty()) outputs.lse = lse_.data();
  return inputs_.cache ? attend_cached(pool_, shape_, attention_inputs_, options_, outputs)
                       : attend_checked(pool_, shape_, attention_inputs_, options_, outputs);
}

Error Forward::run() {
  if (Error e = check_arguments()) return e;
  if (appends())
    if (Error e = widen_ring()) return e;
  if (Error e = check_call()) return e;
  if (Error e = allocate()) return e;
  resolve_positions();
  if (Error e = check_positions()) return e;
  if (Error e = check_room()) return e;
  if (Error e = find_position_rows()) return e;

  project_inputs();
  if (overwrites()) overwrite_inputs();
  if (appends())
    if (Error e = append()) return e;
  if (Error e = attend()) {
    if (appends()) undo_append();
    return e;
  }
  if (overwrites()) overwrite_heads();
  if (shows()) show_inside();
  if (outputs_.output.data && !heads_.empty()) {
    if (layer_.shape.output_projection)
      project_output();
    else
      copy_heads_to_output();
  }
  if (outputs_.lse && !lse_.empty()) std::copy_n(lse_.data(), lse_.size(), outputs_.lse);
  scratch_ = {};
  options_.empty_row_report = nullptr;  // a saved call may outlive it
  if (ring_) return append_checked(pool_, *ring_, new_tokens());
  return {};
}

std::int64_t Forward::saved_bytes() const {
  std::int64_t floats = query_rows_.own.size() + key_rows_.own.size();
  for (const std::span<float> array : {query_, key_, value_, heads_, raw_query_, raw_key_, lse_})
    floats += std::ssize(array);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

HeadSteps Forward::head_steps(const float* gain, const PositionRows& angle_rows) const {
  HeadSteps steps{layer_.shape.head_dim, layer_.options.qk_norm, layer_.options.qk_norm_epsilon, gain};
  if (turns()) {
    steps.angles = layer_.angles_grow() ? &own_angles_ : &layer_.angles;
    steps.angle_rows = angle_rows.at.data();
  }
  return steps;
}

/// Queries, keys and values, with norm and rotary embedding.
void Forward::project_inputs() {
  const TokenRows queries = rows(query_.data(), inputs_.query_length, layer_.query_width());
  const TokenRows keys = rows(key_.data(), key_length_, layer_.key_width());
  const TokenRows values = rows(value_.data(), key_length_, layer_.value_width());
  ProjectionJob jobs[] = {{&layer_.query, x(), queries, query_steps()},
                          {&layer_.key, key_tokens(), keys, key_steps()},
                          {&layer_.value, value_tokens(), values}};
  if (keeps_raw_heads()) {
    for (ProjectionJob& job : jobs) job.heads = {};
    jobs[0].y.array.data = raw_query_.data();
    jobs[1].y.array.data = raw_key_.data();
  }
  project(pool_, {jobs, projects_keys() ? std::size_t{3} : std::size_t{1}}, scratch_);
  if (!keeps_raw_heads()) return;
  take_head_steps(as_const(jobs[0].y), layer_.shape.num_heads, query_steps(), queries);
  take_head_steps(as_const(jobs[1].y), layer_.shape.num_kv_heads, key_steps(), keys);
}

/// Copies heads, and takes their steps on the copies.
void Forward::take_head_steps(const ConstTokenRows& raw, std::int64_t num_heads, const HeadSteps& steps,
                              const TokenRows& heads) {
  const std::int64_t width = steps.head_dim;
  pool_.parallel_for(raw.count(), [&](std::int64_t token, int worker) {
    float* const head = scratch_.data() + worker * (scratch_.size() / pool_.size());
    for (std::int64_t h = 0; h < num_heads; ++h) {
      gather(raw, token, 1, h * width, width, head);
      steps.apply(token, head);
      scatter(head, width, token, 1, h * width, width, heads);
    }
  });
}

void Forward::project_output() {
  const TokenRows heads = rows(heads_.data(), inputs_.query_length, layer_.heads_width());
  const ProjectionJob job{&layer_.output, as_const(heads), output()};
  project(pool_, {&job, 1}, scratch_);
}

/// Without an output projection Y is the heads.
void Forward::copy_heads_to_output() {
  constexpr std::int64_t kFeatures = 256;  // that are copied at a time
  const std::int64_t width = layer_.heads_width();
  const ConstTokenRows heads = as_const(rows(heads_.data(), inputs_.query_length, width));
  pool_.parallel_for(heads.count(), [&](std::int64_t token, int) {
    float features[kFeatures];
    for (std::int64_t d = 0; d < width; d += kFeatures) {
      const std::int64_t count = std::min(kFeatures, width - d);
      gather(heads, token, 1, d, count, features);
      scatter(features, count, token, 1, d, count, output());
    }
  });
}

/// New tokens must not drop those that their queries see, so the call works on a longer ring.
Error Forward::widen_ring() {
  if (!drops_visible_keys(*inputs_.cache, key_length_, growth_.gains)) return {};
  ring_ = inputs_.cache;
  const std::int64_t gained = most_gained(inputs_.batch_size, key_length_, growth_.gains);
  if (Error e = ring_->widened(gained, &wide_)) return e;
  inputs_.cache = wide_.get();
  attention_inputs_.cache = wide_.get();
  return {};
}

Error Forward::append() {
  KvCache& cache = *inputs_.cache;
  for (std::int64_t b = 0; b < inputs_.batch_size; ++b)
    lengths_before_[b] = static_cast<std::int32_t>(cache.appended(b));
  return append_checked(pool_, cache, new_tokens());
}

/// A ring that has dropped a token for a new one cannot go back. The new one then stays.
void Forward::undo_append() { (void)inputs_.cache->rewind_each(lengths_before_.data()); }

}  // namespace headwise
