#include "layer_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/numbers.h"
#include "harness.h"

namespace headwise::layers {

Floats random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

Model model(std::int64_t input_dim, std::int64_t num_heads, std::int64_t head_dim, std::int64_t output_dim) {
  Model m;
  m.shape = {input_dim, input_dim, input_dim, num_heads, num_heads, head_dim, head_dim, output_dim, true};
  return m;
}

Weights kept(const Model& m, Weights weights) {
  const auto keep = [&](Floats& w, std::int64_t out) {
    const std::int64_t in = static_cast<std::int64_t>(w.size()) / std::max<std::int64_t>(out, 1);
    for (std::int64_t o = 0; o < out && in > 0; ++o) {
      Floats row(static_cast<std::size_t>(in));
      for (std::int64_t i = 0; i < in; ++i) row[i] = w[i * out + o];
      float scale = 1.0f;
      std::vector<std::int8_t> bytes(row.size());
      if (m.options.weight_dtype == Dtype::int8) quantise_row(row.data(), in, bytes.data(), &scale);
      for (std::int64_t i = 0; i < in; ++i)
        w[i * out + o] = m.options.weight_dtype == Dtype::int8      ? static_cast<float>(bytes[i]) * scale
                         : m.options.weight_dtype == Dtype::float16 ? half_to_float(float_to_half(row[i]))
                                                                    : bfloat_to_float(float_to_bfloat(row[i]));
    }
  };
  keep(weights.wq, m.query_width());
  keep(weights.wk, m.key_width());
  keep(weights.wv, m.value_width());
  keep(weights.wo, m.shape.output_dim);
  return weights;
}

std::unique_ptr<Layer> build(const Model& m, const LayerWeights& weights) {
  std::unique_ptr<Layer> layer;
  const Status status = Layer::create(m.shape, weights, m.options, &layer);
  EXPECT_TRUE(status.ok()) << status.message().text;
  return layer;
}

std::unique_ptr<Layer> build(const Model& m, const Weights& weights) { return build(m, weights.view(m)); }

std::unique_ptr<Layer> build(const Model& m) { return build(m, Weights(m)); }

StatusCode creation_error(const Model& m, const LayerWeights& weights) {
  std::unique_ptr<Layer> layer;
  const StatusCode code = Layer::create(m.shape, weights, m.options, &layer).code;
  EXPECT_EQ(code == StatusCode::ok, layer != nullptr);
  return code;
}

Call self_call(const Model& m, std::int64_t batch_size, std::int64_t length, unsigned seed) {
  Call call;
  call.batch_size = batch_size;
  call.query_length = length;
  call.x = random_floats(batch_size * length * m.shape.input_dim, seed);
  return call;
}

LayerInputs inputs_of(const Call& call) {
  LayerInputs inputs;
  inputs.layout = call.layout;
  inputs.batch_size = call.batch_size;
  inputs.query_length = call.query_length;
  inputs.key_length = call.key_length;
  inputs.x.data = call.x.data();
  if (!call.key_context.empty()) inputs.key_context.data = call.key_context.data();
  if (!call.value_context.empty()) inputs.value_context.data = call.value_context.data();
  inputs.cache = call.cache;
  inputs.attend_only = call.attend_only;
  inputs.append_lengths = call.append_lengths;
  inputs.positions = call.positions;
  inputs.key_positions = call.key_positions;
  return inputs;
}

Status forward(const Layer& layer, const Call& call, const AttentionOutputs& outputs, int threads) {
  return layer.forward(pool_of(threads), inputs_of(call), call.masks, call.attention, outputs);
}

AttentionOutputs into(Floats& y) {
  AttentionOutputs outputs;
  outputs.output.data = y.data();
  return outputs;
}

Floats output_of(const Layer& layer, const Call& call, int threads) {
  Floats y(static_cast<std::size_t>(call.batch_size * call.query_length * layer.shape().output_dim), 9.0f);
  const Status status = forward(layer, call, into(y), threads);
  EXPECT_TRUE(status.ok()) << status.message().text;
  return y;
}

StatusCode forward_error(const Layer& layer, const Call& call) {
  Floats y(static_cast<std::size_t>(call.batch_size * call.query_length * layer.shape().output_dim), 9.0f);
  const Floats untouched = y;
  const StatusCode code = forward(layer, call, into(y)).code;
  EXPECT_EQ(y, untouched);
  return code;
}

std::unique_ptr<KvCache> cache_for(const Model& m, std::int64_t batch_size, std::int64_t window) {
  KvCacheShape shape;
  shape.batch_size = batch_size;
  shape.num_kv_heads = m.shape.num_kv_heads;
  shape.head_dim = m.shape.head_dim;
  shape.value_dim = m.shape.value_head_dim;
  shape.window = window;
  std::unique_ptr<KvCache> cache;
  EXPECT_TRUE(KvCache::create(shape, &cache).ok());
  return cache;
}

}  // namespace headwise::layers
