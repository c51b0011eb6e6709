#include "headwise/layer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/memory.h"
#include "base/rules.h"
#include "layer/forward.h"
#include "layer/layer_backward.h"

namespace headwise {

namespace {

Error check_layer_shape(const LayerShape& shape) {
  if (Error e = check_counts({{Argument::input_dim, shape.input_dim, 1},
                              {Argument::key_input_dim, shape.key_input_dim, 1},
                              {Argument::value_input_dim, shape.value_input_dim, 1},
                              {Argument::num_heads, shape.num_heads, 1},
                              {Argument::num_kv_heads, shape.num_kv_heads, 1},
                              {Argument::head_dim, shape.head_dim, 1},
                              {Argument::value_head_dim, shape.value_head_dim, 1},
                              {Argument::output_dim, shape.output_dim, 1}}))
    return e;
  if (shape.num_heads % shape.num_kv_heads != 0)
    return refuse(Rule::heads_per_kv_head, shape.num_kv_heads, shape.num_heads);
  if (!shape.output_projection && shape.output_dim != shape.num_heads * shape.value_head_dim)
    return refuse(Rule::output_dim, shape.num_heads * shape.value_head_dim, shape.output_dim);
  return {};
}

/// Whether those that are given have a type that a layer takes.
Error check_weight_dtypes(const LayerWeights& weights) {
  const auto is_taken = [](const ConstArray& array) {
    return !array.data || is_input_dtype(array.dtype) || array.dtype == Dtype::bfloat16;
  };
  for (const LinearWeights* each : {&weights.query, &weights.key, &weights.value, &weights.output})
    if (!is_taken(each->weight) || !is_taken(each->bias)) return refuse(Rule::layer_weight_dtype);
  return {};
}

Error check_weights(const LayerShape& shape, const LayerWeights& weights) {
  const bool has_output = weights.output.weight.data || weights.output.bias.data;
  if (!weights.query.weight.data || !weights.key.weight.data || !weights.value.weight.data)
    return refuse(Rule::weights_given);
  if (shape.output_projection && !weights.output.weight.data) return refuse(Rule::output_weight_given);
  if (!shape.output_projection && has_output) return refuse(Rule::output_weight_not_given);
  return check_weight_dtypes(weights);
}

Error check_layer_options(const LayerShape& shape, const LayerOptions& options) {
  if (Error e = check_choice(Argument::qk_norm, options.qk_norm, QkNorm::l2)) return e;
  if (Error e = check_choice(Argument::layer_position, options.position, LayerPosition::rotary)) return e;
  if (Error e = check_choice(Argument::split, options.sinusoidal_split, SinusoidalSplit::halves)) return e;
  if (Error e = check_choice(Argument::weight_dtype, options.weight_dtype, Dtype::bfloat16)) return e;
  if (Error e = check_not_negative(Argument::qk_norm_epsilon, options.qk_norm_epsilon)) return e;
  if (options.qk_norm == QkNorm::none && (options.query_gain || options.key_gain)) return refuse(Rule::gain_norm);
  if (options.position == LayerPosition::table && (!options.position_table || options.position_rows < 1))
    return refuse(Rule::position_table);
  if (options.position == LayerPosition::sinusoidal)
    return check_positive(Argument::position_base, options.sinusoidal_base);
  if (options.position == LayerPosition::rotary) return validate_rotary(options.rotary, shape.head_dim);
  return {};
}

/// The rules of Layer::create.
Error check_layer(const LayerShape& shape, const LayerWeights& weights, const LayerOptions& options) {
  if (Error e = check_layer_shape(shape)) return e;
  if (Error e = check_weights(shape, weights)) return e;
  return check_layer_options(shape, options);
}

/// Copies an array [rows, columns]. Does nothing if it is null.
Error keep(const float* values, std::int64_t rows, std::int64_t columns, Buffer<float>* copy) {
  if (!values) return {};
  std::int64_t count = 0;
  if (!multiply_sizes(rows, columns, &count)) return refuse(Rule::size, Argument::position_table);
  if (Error e = copy->allocate(count)) return e;
  std::copy_n(values, count, copy->data());
  return {};
}

Error keep_positions(Layer::Packed* packed) {
  const LayerShape& shape = packed->shape;
  LayerOptions& options = packed->options;
  if (options.position == LayerPosition::sinusoidal) {
    const Error status = packed->sinusoids.create(shape.input_dim, options.sinusoidal_split, options.sinusoidal_base);
    return status.ok() ? packed->position_rows.create(packed->sinusoids, shape.input_dim) : status;
  }
  if (!packed->is_rotary()) return {};
  if (Error e = packed->rotary_arrays.keep(shape.head_dim, &options.rotary)) return e;
  if (packed->angles_grow()) return {};
  const Error status = packed->angles.create(options.rotary, shape.head_dim);
  return status.ok() ? packed->position_rows.create(packed->angles, 2 * packed->angles.half()) : status;
}

}  // namespace

Layer::Layer(std::unique_ptr<Packed> packed) : packed_(std::move(packed)) {}
Layer::~Layer() = default;

Status Layer::create(const LayerShape& shape, const LayerWeights& weights, const LayerOptions& options,
                     std::unique_ptr<Layer>* layer) {
  if (Error e = check_given({{Argument::output, true, layer}})) return e;
  if (Error e = check_layer(shape, weights, options)) return e;

  std::unique_ptr<Packed> packed(new (std::nothrow) Packed);
  if (!packed) return out_of_memory(sizeof(Packed));
  packed->shape = shape;
  packed->options = options;
  const Dtype dtype = options.weight_dtype;
  const bool table = options.position == LayerPosition::table;
  const Error steps[] = {
      packed->query.create(weights.query, shape.input_dim, packed->query_width(), shape.head_dim, dtype),
      packed->key.create(weights.key, shape.key_input_dim, packed->key_width(), shape.head_dim, dtype),
      packed->value.create(weights.value, shape.value_input_dim, packed->value_width(), 1, dtype),
      shape.output_projection ? packed->output.create(weights.output, packed->heads_width(), shape.output_dim, 1, dtype)
                              : Error{},
      keep(options.query_gain, 1, shape.head_dim, &packed->query_gain),
      keep(options.key_gain, 1, shape.head_dim, &packed->key_gain),
      keep(table ? options.position_table : nullptr, options.position_rows, shape.input_dim, &packed->position_table),
      keep_positions(packed.get())};
  for (const Error& step : steps)
    if (!step.ok()) return step;
  layer->reset(new (std::nothrow) Layer(std::move(packed)));
  return *layer ? Error{} : out_of_memory(sizeof(Layer));
}

Status Layer::forward(ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
                      const AttentionOptions& attention, const AttentionOutputs& outputs,
                      std::unique_ptr<SavedForward>* saved, const LayerViews& views) const {
  const ThreadPool::Call call(pool);
  if (!saved) {
    Forward forward(*packed_, pool, inputs, masks, attention, outputs, views, false);
    return run(forward);
  }
  std::unique_ptr<Forward> forward(new (std::nothrow)
                                       Forward(*packed_, pool, inputs, masks, attention, outputs, views, true));
  if (!forward) return out_of_memory(sizeof(Forward));
  std::unique_ptr<SavedForward> result(new (std::nothrow) SavedForward(nullptr));
  if (!result) return out_of_memory(sizeof(SavedForward));
  if (Error e = run(*forward)) return e;
  result->forward_ = std::move(forward);
  *saved = std::move(result);
  return {};
}

Status Layer::backward(ThreadPool& pool, const SavedForward& saved, const LayerBackwardInputs& inputs,
                       const LayerGradients& gradients) const {
  if (&saved.forward_->layer != packed_.get()) return refuse(Rule::saved_forward);
  const ThreadPool::Call call(pool);
  return LayerBackward(*saved.forward_, pool, inputs, gradients).run();
}

Status Layer::update(const LayerUpdate& update) {
  Packed& p = *packed_;
  if ((update.query_gain && !p.query_gain) || (update.key_gain && !p.key_gain) ||
      (update.position_table && !p.position_table))
    return refuse(Rule::update_gain);
  if (!p.shape.output_projection && (update.weights.output.weight.data || update.weights.output.bias.data))
    return refuse(Rule::output_weight_not_given);
  if (Error e = check_weight_dtypes(update.weights)) return e;
  p.query.update(update.weights.query);
  p.key.update(update.weights.key);
  p.value.update(update.weights.value);
  if (p.shape.output_projection) p.output.update(update.weights.output);
  if (update.query_gain) std::copy_n(update.query_gain, p.query_gain.size(), p.query_gain.data());
  if (update.key_gain) std::copy_n(update.key_gain, p.key_gain.size(), p.key_gain.data());
  if (update.position_table) std::copy_n(update.position_table, p.position_table.size(), p.position_table.data());
  return {};
}

SavedForward::SavedForward(std::unique_ptr<Forward> forward) : forward_(std::move(forward)) {}
SavedForward::~SavedForward() = default;

std::int64_t SavedForward::bytes() const { return forward_->saved_bytes(); }

const LayerShape& Layer::shape() const { return packed_->shape; }

std::int64_t Layer::bytes() const {
  const Packed& p = *packed_;
  return p.query.bytes() + p.key.bytes() + p.value.bytes() + p.output.bytes() +
         kFloatBytes * (p.query_gain.size() + p.key_gain.size() + p.position_table.size()) + p.position_rows.bytes() +
         p.rotary_arrays.bytes();
}

}  // namespace headwise
