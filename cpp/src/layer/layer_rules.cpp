#include "layer/layer_rules.h"

#include <cmath>
#include <limits>

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

}  // namespace

Status check_layer(const LayerShape& shape, const LayerWeights& weights, const LayerOptions& options) {
  if (Status status = check_layer_shape(shape); !status.ok()) return status;
  if (Status status = check_weights(shape, weights); !status.ok()) return status;
  return check_layer_options(shape, options);
}

}  // namespace headwise
