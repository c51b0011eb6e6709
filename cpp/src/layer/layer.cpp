#include "headwise/layer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "base/memory.h"
#include "layer/forward.h"
#include "layer/layer_backward.h"

namespace headwise {

namespace {

using Long = long long;

Status check_extent(const char* name, std::int64_t value) {
  if (value >= 1 && value <= std::numeric_limits<std::int32_t>::max()) return {};
  return Status::error(StatusCode::invalid_shape, "%s must be in 1..2^31-1, got %lld", name, static_cast<Long>(value));
}

Status check_layer_shape(const LayerShape& shape) {
  const struct {
    const char* name;
    std::int64_t value;
  } extents[] = {{"inputDim", shape.input_dim},
                 {"keyInputDim", shape.key_input_dim},
                 {"valueInputDim", shape.value_input_dim},
                 {"numHeads", shape.num_heads},
                 {"numKvHeads", shape.num_kv_heads},
                 {"headDim", shape.head_dim},
                 {"valueHeadDim", shape.value_head_dim},
                 {"outputDim", shape.output_dim}};
  for (const auto& extent : extents)
    if (Status status = check_extent(extent.name, extent.value); !status.ok()) return status;
  if (shape.num_heads % shape.num_kv_heads != 0)
    return Status::error(StatusCode::invalid_shape, "numKvHeads must divide numHeads, got %lld and %lld",
                         static_cast<Long>(shape.num_kv_heads), static_cast<Long>(shape.num_heads));
  if (!shape.output_projection && shape.output_dim != shape.num_heads * shape.value_head_dim)
    return Status::error(StatusCode::invalid_shape,
                         "outputDim without output projection must be numHeads * valueHeadDim (%lld), got %lld",
                         static_cast<Long>(shape.num_heads * shape.value_head_dim),
                         static_cast<Long>(shape.output_dim));
  return {};
}

Status check_weights(const LayerShape& shape, const LayerWeights& weights) {
  const bool has_output = weights.output.weight.data || weights.output.bias.data;
  if (!weights.query.weight.data || !weights.key.weight.data || !weights.value.weight.data)
    return Status::error(StatusCode::invalid_shape, "weights of query, key and value must be given");
  if (shape.output_projection && !weights.output.weight.data)
    return Status::error(StatusCode::invalid_shape, "the output weight must be given, or outputProjection be false");
  if (!shape.output_projection && has_output)
    return Status::error(StatusCode::invalid_option,
                         "outputProjection is false, but an output weight or bias is given");
  return {};
}

Status check_layer_options(const LayerShape& shape, const LayerOptions& options) {
  if (!std::isfinite(options.qk_norm_epsilon) || options.qk_norm_epsilon < 0.0f)
    return Status::error(StatusCode::invalid_option, "qkNorm.epsilon must be finite and >= 0, got %g",
                         static_cast<double>(options.qk_norm_epsilon));
  if (options.qk_norm == QkNorm::none && (options.query_gain || options.key_gain))
    return Status::error(StatusCode::invalid_option, "a gain needs a qkNorm");
  if (options.position == LayerPosition::table && (!options.position_table || options.position_rows < 1))
    return Status::error(StatusCode::invalid_shape, "the position table must have at least one row");
  if (options.position == LayerPosition::sinusoidal &&
      (!std::isfinite(options.sinusoidal_base) || options.sinusoidal_base <= 0.0))
    return Status::error(StatusCode::invalid_option, "position.base must be finite and > 0, got %g",
                         options.sinusoidal_base);
  if (options.position == LayerPosition::rotary) return validate_rotary(options.rotary, shape.head_dim);
  return {};
}

/// The rules of Layer::create.
Status check_layer(const LayerShape& shape, const LayerWeights& weights, const LayerOptions& options) {
  if (Status status = check_layer_shape(shape); !status.ok()) return status;
  if (Status status = check_weights(shape, weights); !status.ok()) return status;
  return check_layer_options(shape, options);
}

/// Copies an array [rows, columns]. Does nothing if it is null.
Status keep(const float* values, std::int64_t rows, std::int64_t columns, Buffer<float>* copy) {
  if (!values) return {};
  std::int64_t count = 0;
  if (!multiply_sizes(rows, columns, &count))
    return Status::error(StatusCode::invalid_shape, "the size of the position table overflows");
  if (!copy->allocate(count)) return Status::out_of_memory(count * kFloatBytes);
  std::copy_n(values, count, copy->data());
  return {};
}

Status keep_positions(Layer::Packed* packed) {
  const LayerShape& shape = packed->shape;
  LayerOptions& options = packed->options;
  if (options.position == LayerPosition::sinusoidal) {
    const Status status = packed->sinusoids.create(shape.input_dim, options.sinusoidal_split, options.sinusoidal_base);
    return status.ok() ? packed->position_rows.create(packed->sinusoids, shape.input_dim) : status;
  }
  if (!packed->is_rotary()) return {};
  if (Status status = packed->rotary_arrays.keep(shape.head_dim, &options.rotary); !status.ok()) return status;
  if (packed->angles_grow()) return {};
  const Status status = packed->angles.create(options.rotary, shape.head_dim);
  return status.ok() ? packed->position_rows.create(packed->angles, 2 * packed->angles.half()) : status;
}

}  // namespace

Layer::Layer(std::unique_ptr<Packed> packed) : packed_(std::move(packed)) {}
Layer::~Layer() = default;

Status Layer::create(const LayerShape& shape, const LayerWeights& weights, const LayerOptions& options,
                     std::unique_ptr<Layer>* layer) {
  if (Status status = check_layer(shape, weights, options); !status.ok()) return status;

  std::unique_ptr<Packed> packed(new (std::nothrow) Packed);
  if (!packed) return Status::out_of_memory(sizeof(Packed));
  packed->shape = shape;
  packed->options = options;
  const Dtype dtype = options.weight_dtype;
  const bool table = options.position == LayerPosition::table;
  const Status steps[] = {
      packed->query.create(weights.query, shape.input_dim, packed->query_width(), shape.head_dim, dtype),
      packed->key.create(weights.key, shape.key_input_dim, packed->key_width(), shape.head_dim, dtype),
      packed->value.create(weights.value, shape.value_input_dim, packed->value_width(), 1, dtype),
      shape.output_projection ? packed->output.create(weights.output, packed->heads_width(), shape.output_dim, 1, dtype)
                              : Status{},
      keep(options.query_gain, 1, shape.head_dim, &packed->query_gain),
      keep(options.key_gain, 1, shape.head_dim, &packed->key_gain),
      keep(table ? options.position_table : nullptr, options.position_rows, shape.input_dim, &packed->position_table),
      keep_positions(packed.get())};
  for (const Status& step : steps)
    if (!step.ok()) return step;
  layer->reset(new (std::nothrow) Layer(std::move(packed)));
  return *layer ? Status{} : Status::out_of_memory(sizeof(Layer));
}

Status Layer::forward(ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
                      const AttentionOptions& attention, const AttentionOutputs& outputs,
                      std::unique_ptr<SavedForward>* saved, const LayerViews& views) const {
  const ThreadPool::Call call(pool);
  if (!saved) return Forward(*packed_, pool, inputs, masks, attention, outputs, views, false).run();
  std::unique_ptr<Forward> forward(new (std::nothrow)
                                       Forward(*packed_, pool, inputs, masks, attention, outputs, views, true));
  if (!forward) return Status::out_of_memory(sizeof(Forward));
  std::unique_ptr<SavedForward> result(new (std::nothrow) SavedForward(nullptr));
  if (!result) return Status::out_of_memory(sizeof(SavedForward));
  if (Status status = forward->run(); !status.ok()) return status;
  result->forward_ = std::move(forward);
  *saved = std::move(result);
  return {};
}

Status Layer::backward(ThreadPool& pool, const SavedForward& saved, const LayerBackwardInputs& inputs,
                       const LayerGradients& gradients) const {
  if (&saved.forward_->layer() != packed_.get())
    return Status::error(StatusCode::invalid_option, "saved must come from a call of this layer");
  const ThreadPool::Call call(pool);
  return LayerBackward(*saved.forward_, pool, inputs, gradients).run();
}

Status Layer::update(const LayerUpdate& update) {
  Packed& p = *packed_;
  if ((update.query_gain && !p.query_gain) || (update.key_gain && !p.key_gain) ||
      (update.position_table && !p.position_table))
    return Status::error(StatusCode::invalid_option,
                         "a gain or table can replace only one that the layer was made with");
  if (!p.shape.output_projection && (update.weights.output.weight.data || update.weights.output.bias.data))
    return Status::error(StatusCode::invalid_option,
                         "outputProjection is false, but an output weight or bias is given");
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
