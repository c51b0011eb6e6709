#include "layer/layer_backward.h"

#include <algorithm>

#include "base/memory.h"

namespace headwise {

namespace {

// Gains are summed over parts of the tokens, whose number does not depend on the threads.
constexpr std::int64_t kGainParts = 16;

bool is_wanted(const LinearWeightGradients& gradients) { return gradients.weight || gradients.bias; }

}  // namespace

LayerBackward::LayerBackward(const Forward& forward, ThreadPool& pool, const LayerBackwardInputs& inputs,
                             const LayerGradients& gradients)
    : forward_(forward), layer_(forward.layer), pool_(pool), inputs_(inputs), gradients_(gradients) {}

Error LayerBackward::check() const {
  if (Error e = check_dtype(Argument::d_output, inputs_.output_gradient.dtype)) return e;
  const bool has_rows = forward_.inputs.batch_size > 0 && forward_.inputs.query_length > 0;
  if (Error e = check_given({{Argument::d_output, has_rows, inputs_.output_gradient.data}})) return e;
  if (!layer_.shape.output_projection && is_wanted(gradients_.output_weights)) return refuse(Rule::gradient_projection);
  if (layer_.options.qk_norm == QkNorm::none && (gradients_.query_gain || gradients_.key_gain))
    return refuse(Rule::gradient_gain);
  if (layer_.options.position != LayerPosition::table && gradients_.position_table)
    return refuse(Rule::gradient_position_table);
  if ((gradients_.key_context && !forward_.inputs.key_context.data) ||
      (gradients_.value_context && !forward_.inputs.value_context.data))
    return refuse(Rule::gradient_context);
  return {};
}

TokenRows LayerBackward::tokens_of(float* array, std::int64_t length, std::int64_t width) const {
  const ConstTokenRows rows = forward_.context({array}, length, width);
  return {{array}, rows.strides, rows.batch_size, rows.length};
}

Error LayerBackward::allocate() {
  const LayerShape& s = layer_.shape;
  const LayerInputs& inputs = forward_.inputs;
  const std::int64_t query_tokens = inputs.batch_size * inputs.query_length;
  const std::int64_t key_tokens = inputs.batch_size * forward_.key_length;
  const bool needs_input = gradients_.position_table && !gradients_.input;
  if (Error e = arrays_.allocate(query_, query_tokens * layer_.query_width(), key_, key_tokens * layer_.key_width(),
                                 value_, key_tokens * layer_.value_width(),                              //
                                 heads_, s.output_projection ? query_tokens * layer_.heads_width() : 0,  //
                                 input_, needs_input ? query_tokens * s.input_dim : 0,                   //
                                 gain_parts_, kGainParts * s.head_dim))
    return e;

  const auto rows = [&](std::span<float> array, std::int64_t length, std::int64_t width) {
    return forward_.rows(array.data(), length, width);
  };
  const std::int64_t length = inputs.query_length, key_length = forward_.key_length;
  float* const input = needs_input ? input_.data() : gradients_.input;
  const bool keys_from_x = !inputs.key_context.data, values_from_keys = !inputs.value_context.data;
  const TokenRows x_target = tokens_of(input, length, s.input_dim);
  const TokenRows key_target = keys_from_x ? x_target : tokens_of(gradients_.key_context, key_length, s.key_input_dim);
  const TokenRows value_target =
      values_from_keys ? key_target : tokens_of(gradients_.value_context, key_length, s.value_input_dim);

  if (s.output_projection) {
    const ConstTokenRows heads =
        as_const(forward_.rows(const_cast<float*>(forward_.heads.data()), length, layer_.heads_width()));
    output_way_ = {&layer_.output,
                   heads,
                   forward_.context(inputs_.output_gradient, length, s.output_dim),
                   layer_.heads_width(),
                   s.output_dim,
                   gradients_.output_weights,
                   rows(heads_, length, layer_.heads_width())};
  }
  query_way_ = {&layer_.query, forward_.x(),         as_const(rows(query_, length, layer_.query_width())),
                s.input_dim,   layer_.query_width(), gradients_.query_weights,
                x_target};
  key_way_ = {&layer_.key,
              forward_.key_tokens(),
              as_const(rows(key_, key_length, layer_.key_width())),
              s.key_input_dim,
              layer_.key_width(),
              gradients_.key_weights,
              key_target,
              keys_from_x};
  value_way_ = {&layer_.value,     forward_.value_tokens(), as_const(rows(value_, key_length, layer_.value_width())),
                s.value_input_dim, layer_.value_width(),    gradients_.value_weights,
                value_target,      values_from_keys};

  std::int64_t scratch = std::max(WeightGradient::scratch_floats(), std::max(2 * layer_.query_width(), s.input_dim));
  for (Way* way : {&output_way_, &query_way_, &key_way_, &value_way_}) {
    if (way->target.array.data) {
      if (Error e = way->back.create_transposed(*way->projection)) return e;
      scratch = std::max(scratch, way->back.scratch_floats());
    }
    if (is_wanted(way->wanted)) {
      const WeightGradientJob job{
          way->tokens,           way->gradient,          way->in,         way->out, way->wanted.weight,
          way->wanted.in_stride, way->wanted.out_stride, way->wanted.bias};
      if (Error e = way->weight.create(job)) return e;
    }
  }
  return scratch_.allocate(pool_.size() * scratch);
}

Error LayerBackward::attend() {
  BackwardInputs inputs;
  inputs.forward = forward_.attention_inputs;
  inputs.output = {forward_.heads.data()};
  inputs.lse = forward_.lse.data();
  inputs.output_gradient = layer_.shape.output_projection ? ConstArray{heads_.data()} : inputs_.output_gradient;
  inputs.score_derivative = inputs_.score_derivative;
  inputs.lse_gradient = inputs_.lse_gradient;
  BackwardOutputs outputs = gradients_.attention;
  outputs.query = query_.data();
  outputs.key = key_.data();
  outputs.value = value_.data();
  return attention_backward(pool_, forward_.shape, inputs, forward_.options, outputs);
}

void LayerBackward::take_heads_back() {
  const Forward& f = forward_;
  if (layer_.options.qk_norm == QkNorm::none && !layer_.is_rotary()) return;
  take_heads_back(f.rows(query_.data(), f.inputs.query_length, layer_.query_width()), f.raw_query, f.query_steps(),
                  layer_.shape.num_heads, gradients_.query_gain);
  take_heads_back(f.rows(key_.data(), f.key_length, layer_.key_width()), f.raw_key, f.key_steps(),
                  layer_.shape.num_kv_heads, gradients_.key_gain);
}

void LayerBackward::take_heads_back(const TokenRows& gradient, std::span<const float> raw, const HeadSteps& steps,
                                    std::int64_t num_heads, float* gain_gradient) {
  const std::int64_t width = steps.head_dim;
  const ConstTokenRows from = as_const(gradient);
  ConstTokenRows raw_rows = from;
  raw_rows.array.data = raw.data();
  const std::int64_t part_tokens = std::max(divide_up(from.count(), kGainParts), std::int64_t{1});
  std::fill_n(gain_parts_.data(), gain_parts_.size(), 0.0);
  pool_.parallel_for(divide_up(from.count(), part_tokens), [&](std::int64_t part, int worker) {
    float *const heads = worker_scratch(worker), *const raw_heads = heads + num_heads * width;
    const std::int64_t end = std::min((part + 1) * part_tokens, from.count());
    for (std::int64_t token = part * part_tokens; token < end; ++token) {
      gather(from, token, 1, 0, num_heads * width, heads);
      if (raw.size() > 0) gather(raw_rows, token, 1, 0, num_heads * width, raw_heads);
      for (std::int64_t h = 0; h < num_heads; ++h)
        steps.take_back(token, raw_heads + h * width, heads + h * width, gain_parts_.data() + part * width);
      scatter(heads, num_heads * width, token, 1, 0, num_heads * width, gradient);
    }
  });
  for (std::int64_t d = 0; gain_gradient && d < width; ++d) {
    double sum = 0;
    for (std::int64_t part = 0; part < kGainParts; ++part) sum += gain_parts_[part * width + d];
    gain_gradient[d] = static_cast<float>(sum);
  }
}

/// Every row of the table gets the gradients of the tokens that it was added to.
void LayerBackward::add_to_table() {
  const std::int64_t width = layer_.shape.input_dim;
  std::fill_n(gradients_.position_table, layer_.position_table.size(), 0.0f);
  const ConstTokenRows tokens = as_const(query_way_.target);
  float* const row = scratch_.data();
  for (std::int64_t token = 0; token < tokens.count(); ++token) {
    const float* const added = forward_.query_position_rows.at[token];
    if (!added) continue;
    gather(tokens, token, 1, 0, width, row);
    float* const sum = gradients_.position_table + (added - layer_.position_table.data());
    for (std::int64_t d = 0; d < width; ++d) sum[d] += row[d];
  }
}

Error LayerBackward::run() {
  if (Error e = check()) return e;
  if (Error e = allocate()) return e;
  const auto go_back = [&](Way& way) {
    const ProjectionJob job{&way.back, way.gradient, way.target, {}, way.adds};
    if (way.target.array.data) project(pool_, {&job, 1}, scratch_);
  };
  go_back(output_way_);
  if (Error e = attend()) return e;
  take_heads_back();
  go_back(query_way_);
  go_back(key_way_);
  go_back(value_way_);
  for (Way* way : {&output_way_, &query_way_, &key_way_, &value_way_})
    if (is_wanted(way->wanted)) way->weight.run(pool_, scratch_);
  if (gradients_.position_table) add_to_table();
  return {};
}

}  // namespace headwise
