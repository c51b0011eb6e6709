#include "layer/for_each_token.h"
#include "layer/forward.h"
#include "layer/normalise.h"

namespace headwise {

void Forward::normalise_heads(float* x, std::int64_t length, std::int64_t num_heads, const float* gain) {
  const LayerOptions& options = layer_.options;
  const std::int64_t head_dim = layer_.shape.head_dim;
  if (options.qk_norm == QkNorm::none) return;
  const Strides strides = strides_of(heads_layout_, num_heads, length, head_dim);
  for_each_token(pool_, inputs_.batch_size, length, [&](std::int64_t b, std::int64_t s) {
    for (std::int64_t h = 0; h < num_heads; ++h)
      normalise(x + b * strides.batch + h * strides.head + s * strides.position, strides.feature, head_dim,
                options.qk_norm, options.qk_norm_epsilon, gain);
  });
}

void Forward::project_queries() {
  const std::int64_t length = inputs_.query_length;
  layer_.query.apply(pool_, scratch_, x(), rows(query_.data(), length, layer_.query_width()));
  normalise_heads(query_.data(), length, layer_.shape.num_heads, layer_.query_gain.data());
}

void Forward::project_keys_and_values() {
  const LayerShape& s = layer_.shape;
  const ConstTokenRows keys =
      inputs_.key_context.data ? context(inputs_.key_context, key_length_, s.key_input_dim) : x();
  const ConstTokenRows values =
      inputs_.value_context.data ? context(inputs_.value_context, key_length_, s.value_input_dim) : keys;
  layer_.key.apply(pool_, scratch_, keys, rows(key_.data(), key_length_, layer_.key_width()));
  layer_.value.apply(pool_, scratch_, values, rows(value_.data(), key_length_, layer_.value_width()));
  normalise_heads(key_.data(), key_length_, s.num_kv_heads, layer_.key_gain.data());
}

void Forward::project_output() {
  const LayerShape& s = layer_.shape;
  const std::int64_t length = inputs_.query_length;
  const TokenRows heads = rows(heads_.data(), length, layer_.heads_width());
  const TokenRows y{outputs_.output, strides_of(inputs_.layout, 1, length, s.output_dim), inputs_.batch_size, length};
  layer_.output.apply(pool_, scratch_,
                      {{heads.array.data, heads.array.dtype}, heads.strides, heads.batch_size, heads.length}, y);
}

}  // namespace headwise
