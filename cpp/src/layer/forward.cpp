#include "layer/forward.h"

#include <algorithm>

#include "attention/validate.h"
#include "cache/append.h"
#include "cache/attend_cached.h"
#include "cache/wide_ring.h"
#include "layer/head_steps.h"

namespace headwise {

Forward::Forward(const Layer::Packed& packed, ThreadPool& threads, const LayerInputs& given,
                 const AttentionInputs& masks, const AttentionOptions& attention, const AttentionOutputs& wanted,
                 const LayerViews& shown, bool is_saved)
    : layer(packed),
      pool(threads),
      inputs(given),
      options(attention),
      outputs(wanted),
      views(shown),
      // without Wo the heads are Y itself, and lie in the order of Y
      heads_layout(layer.shape.output_projection ? Layout::bse : inputs.layout),
      key_length(inputs.key_context.data || inputs.value_context.data ? inputs.key_length : inputs.query_length),
      saves(is_saved) {
  if (!inputs.positions.data) inputs.positions = {};
  if (attention.score) options.score = &(score = *attention.score);
  if (attention.visible) options.visible = &(visible = *attention.visible);
  attention_inputs.mask = masks.mask;
  attention_inputs.mask_extents = masks.mask_extents;
  attention_inputs.bias = masks.bias;
  attention_inputs.bias_extents = masks.bias_extents;
  attention_inputs.probs = masks.probs;
  attention_inputs.cache = inputs.cache;
  if (turned_by_cache()) {
    attention_inputs.query_positions = inputs.positions.data;
    attention_inputs.query_position_planes = inputs.positions.planes;
  }
  options.layout = heads_layout;
  options.kv_layout = heads_layout;
  const LayerShape& s = layer.shape;
  shape = {inputs.batch_size, s.num_heads, s.num_kv_heads,  inputs.query_length,
           key_length,        s.head_dim,  s.value_head_dim};
  const bool keys_from_x = !inputs.key_context.data;
  const std::int32_t* x_lengths = keys_from_x ? options.query_lengths : nullptr;
  if (appends()) growth = {key_length, inputs.append_lengths ? inputs.append_lengths : x_lengths};
}

std::int64_t Forward::saved_bytes() const {
  std::int64_t floats = query_position_rows.own.size() + key_position_rows.own.size();
  for (const std::span<float> array : {query, key, value, heads, raw_query, raw_key, lse}) floats += std::ssize(array);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

HeadSteps Forward::head_steps(const float* gain, const PositionRows& angle_rows) const {
  HeadSteps steps{layer.shape.head_dim, layer.options.qk_norm, layer.options.qk_norm_epsilon, gain};
  if (turns()) {
    steps.angles = layer.angles_grow() ? &own_angles : &layer.angles;
    steps.angle_rows = angle_rows.at.data();
  }
  return steps;
}

namespace {

/// New tokens must not drop those that their queries see, so the call works on a longer ring.
Error take_wide_ring(Forward& f) {
  if (!drops_visible_keys(*f.inputs.cache, f.key_length, f.growth.gains)) return {};
  f.ring = f.inputs.cache;
  const std::int64_t gained = most_gained(f.inputs.batch_size, f.key_length, f.growth.gains);
  if (Error e = widen_ring(*f.ring, gained, &f.wide)) return e;
  f.inputs.cache = f.wide.get();
  f.attention_inputs.cache = f.wide.get();
  return {};
}

Error check(Forward& f) {
  if (Error e = check_arguments(f)) return e;
  if (f.appends())
    if (Error e = take_wide_ring(f)) return e;
  return check_call(f);
}

std::int64_t projection_scratch(const Layer::Packed& layer) {
  return std::max({layer.query.scratch_floats(), layer.key.scratch_floats(), layer.value.scratch_floats(),
                   layer.output.scratch_floats(), layer.shape.head_dim});
}

Error allocate(Forward& f) {
  const std::int64_t query_tokens = f.inputs.batch_size * f.inputs.query_length;
  const std::int64_t key_tokens = f.projects_keys() ? f.inputs.batch_size * f.key_length : 0;
  const std::int64_t query_width = f.layer.query_width(), key_width = f.layer.key_width();
  const std::int64_t chosen = f.views.contributions.data ? contribution_rows(f) : 0;
  const std::int64_t planes = f.inputs.positions.planes;
  if (Error e = f.scratch.allocate(f.pool.size() * projection_scratch(f.layer))) return e;
  return f.arrays.allocate(f.query, query_tokens * query_width, f.key, key_tokens * key_width,   //
                           f.value, key_tokens * f.layer.value_width(),                          //
                           f.heads, f.keeps_heads() ? query_tokens * f.layer.heads_width() : 0,  //
                           f.chosen_heads, chosen * f.layer.shape.value_head_dim,                //
                           f.raw_query, f.keeps_raw_heads() ? query_tokens * query_width : 0,    //
                           f.raw_key, f.keeps_raw_heads() ? key_tokens * key_width : 0,          //
                           f.lse, f.saves ? query_tokens * f.layer.shape.num_heads : 0,          //
                           f.query_positions, planes * query_tokens,                             //
                           f.key_positions, planes * key_tokens,                                 //
                           f.sequences, count_sequences(f.shape, f.options));
}

/// Memory, and where tokens stand.
Error place_tokens(Forward& f) {
  if (Error e = allocate(f)) return e;
  resolve_places(f);
  if (Error e = check_places(f)) return e;
  return find_position_rows(f);
}

/// Copies heads, and takes their steps on the copies.
void take_head_steps(Forward& f, const ConstTokenRows& raw, std::int64_t num_heads, const HeadSteps& steps,
                     const TokenRows& heads) {
  const std::int64_t width = steps.head_dim;
  f.pool.parallel_for(raw.count(), [&](std::int64_t token, int worker) {
    float* const head = f.scratch.data() + worker * (f.scratch.size() / f.pool.size());
    for (std::int64_t h = 0; h < num_heads; ++h) {
      gather(raw, token, 1, h * width, width, head);
      steps.apply(token, head);
      scatter(head, width, token, 1, h * width, width, heads);
    }
  });
}

/// Queries, keys and values, with norm and rotary embedding.
void project_inputs(Forward& f) {
  const TokenRows queries = f.rows(f.query.data(), f.inputs.query_length, f.layer.query_width());
  const TokenRows keys = f.rows(f.key.data(), f.key_length, f.layer.key_width());
  const TokenRows values = f.rows(f.value.data(), f.key_length, f.layer.value_width());
  ProjectionJob jobs[] = {{&f.layer.query, f.x(), queries, f.query_steps()},
                          {&f.layer.key, f.key_tokens(), keys, f.key_steps()},
                          {&f.layer.value, f.value_tokens(), values}};
  if (f.keeps_raw_heads()) {
    for (ProjectionJob& job : jobs) job.heads = {};
    jobs[0].y.array.data = f.raw_query.data();
    jobs[1].y.array.data = f.raw_key.data();
  }
  project(f.pool, {jobs, f.projects_keys() ? std::size_t{3} : std::size_t{1}}, f.scratch);
  if (!f.keeps_raw_heads()) return;
  take_head_steps(f, as_const(jobs[0].y), f.layer.shape.num_heads, f.query_steps(), queries);
  take_head_steps(f, as_const(jobs[1].y), f.layer.shape.num_kv_heads, f.key_steps(), keys);
}

Error attend_to_keys(Forward& f) {
  f.attention_inputs.query.data = f.query.data();
  f.attention_inputs.key.data = f.key.data();
  f.attention_inputs.value.data = f.value.data();
  AttentionOutputs outputs = f.outputs;
  if (!f.heads.empty()) outputs.output = {f.heads.data(), Dtype::float32};
  if (!f.lse.empty()) outputs.lse = f.lse.data();
  return f.inputs.cache ? attend_cached(f.pool, f.shape, f.attention_inputs, f.options, outputs)
                        : attend_checked(f.pool, f.shape, f.attention_inputs, f.options, outputs);
}

/// New tokens are in the cache before attention reads it, and gone again if attention fails.
Error attend(Forward& f) {
  if (!f.appends()) return attend_to_keys(f);
  KvCache& cache = *f.inputs.cache;
  BeforeAppend before;
  if (Error e = before.note(cache)) return e;
  if (Error e = append_checked(f.pool, cache, f.new_tokens())) return e;
  const Error status = attend_to_keys(f);
  if (!status.ok()) before.restore(cache);
  return status;
}

void project_output(Forward& f) {
  const TokenRows heads = f.rows(f.heads.data(), f.inputs.query_length, f.layer.heads_width());
  const ProjectionJob job{&f.layer.output, as_const(heads), f.output()};
  project(f.pool, {&job, 1}, f.scratch);
}

/// Without an output projection Y is the heads.
void copy_heads_to_output(Forward& f) {
  constexpr std::int64_t kFeatures = 256;  // that are copied at a time
  const std::int64_t width = f.layer.heads_width();
  const ConstTokenRows heads = as_const(f.rows(f.heads.data(), f.inputs.query_length, width));
  f.pool.parallel_for(heads.count(), [&](std::int64_t token, int) {
    float features[kFeatures];
    for (std::int64_t d = 0; d < width; d += kFeatures) {
      const std::int64_t count = std::min(kFeatures, width - d);
      gather(heads, token, 1, d, count, features);
      scatter(features, count, token, 1, d, count, f.output());
    }
  });
}

/// Y, and the log-sum-exp that was saved.
void give_outputs(Forward& f) {
  if (f.outputs.output.data && !f.heads.empty()) {
    if (f.layer.shape.output_projection)
      project_output(f);
    else
      copy_heads_to_output(f);
  }
  if (f.outputs.lse && !f.lse.empty()) std::copy_n(f.lse.data(), f.lse.size(), f.outputs.lse);
}

}  // namespace

Error run(Forward& f) {
  if (Error e = check(f)) return e;
  if (Error e = place_tokens(f)) return e;
  project_inputs(f);
  if (f.overwrites()) overwrite_inputs(f);
  if (Error e = attend(f)) return e;
  if (f.overwrites()) overwrite_heads(f);
  if (f.shows()) show_inside(f);
  give_outputs(f);
  f.scratch = {};
  f.options.empty_row_report = nullptr;  // a saved call may outlive it
  return f.ring ? append_checked(f.pool, *f.ring, f.new_tokens()) : Error{};
}

}  // namespace headwise
