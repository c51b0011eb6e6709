#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "headwise/kv_cache.h"
#include "headwise/layer.h"

/// A layer and its calls as plain data, for tests.
namespace headwise::layers {

using Floats = std::vector<float>;

[[nodiscard]] Floats random_floats(std::int64_t count, unsigned seed);

/// What Layer::create takes but for the weights, whose seed this holds.
struct Model {
  LayerShape shape;
  LayerOptions options;
  bool biases = true;
  unsigned seed = 1;

  [[nodiscard]] std::int64_t query_width() const { return shape.num_heads * shape.head_dim; }
  [[nodiscard]] std::int64_t key_width() const { return shape.num_kv_heads * shape.head_dim; }
  [[nodiscard]] std::int64_t value_width() const { return shape.num_kv_heads * shape.value_head_dim; }
  [[nodiscard]] std::int64_t heads_width() const { return shape.num_heads * shape.value_head_dim; }
};

[[nodiscard]] Model model(std::int64_t input_dim, std::int64_t num_heads, std::int64_t head_dim,
                          std::int64_t output_dim);

/// [in, out] weights, scaled so that projections keep the size of their input.
struct Weights {
  Floats wq, bq, wk, bk, wv, bv, wo, bo;

  explicit Weights(const Model& m) {
    const LayerShape& s = m.shape;
    wq = matrix(s.input_dim, m.query_width(), m.seed);
    wk = matrix(s.key_input_dim, m.key_width(), m.seed + 1);
    wv = matrix(s.value_input_dim, m.value_width(), m.seed + 2);
    if (s.output_projection) wo = matrix(m.heads_width(), s.output_dim, m.seed + 3);
    if (!m.biases) return;
    bq = random_floats(m.query_width(), m.seed + 4);
    bk = random_floats(m.key_width(), m.seed + 5);
    bv = random_floats(m.value_width(), m.seed + 6);
    if (s.output_projection) bo = random_floats(s.output_dim, m.seed + 7);
  }

  static Floats matrix(std::int64_t in, std::int64_t out, unsigned seed) {
    Floats values = random_floats(in * out, seed);
    for (float& value : values) value *= std::sqrt(3.0f / static_cast<float>(in));
    return values;
  }

  [[nodiscard]] LayerWeights view(const Model& m) const {
    const auto linear = [](const Floats& w, const Floats& b, std::int64_t out) {
      return LinearWeights{{w.empty() ? nullptr : w.data()}, out, 1, {b.empty() ? nullptr : b.data()}};
    };
    return {linear(wq, bq, m.query_width()), linear(wk, bk, m.key_width()), linear(wv, bv, m.value_width()),
            linear(wo, bo, m.shape.output_dim)};
  }
};

/// What a layer of this model keeps of a weight [in, out], in the dtype of its options.
[[nodiscard]] Weights kept(const Model& m, Weights weights);

/// The layer; fails the running test if its creation is refused.
[[nodiscard]] std::unique_ptr<Layer> build(const Model& m, const LayerWeights& weights);
[[nodiscard]] std::unique_ptr<Layer> build(const Model& m, const Weights& weights);
[[nodiscard]] std::unique_ptr<Layer> build(const Model& m);

[[nodiscard]] StatusCode creation_error(const Model& m, const LayerWeights& weights);

/// What Layer::forward takes.
struct Call {
  std::int64_t batch_size = 1, query_length = 1, key_length = 0;
  Layout layout = Layout::bse;
  Floats x, key_context, value_context;
  KvCache* cache = nullptr;
  bool attend_only = false;
  const std::int32_t* append_lengths = nullptr;
  TokenPositions positions;
  const std::int32_t* key_positions = nullptr;
  AttentionInputs masks;
  AttentionOptions attention;
};

/// Self-attention on random numbers.
[[nodiscard]] Call self_call(const Model& m, std::int64_t batch_size, std::int64_t length, unsigned seed = 100);

/// The call's arrays, as the layer takes them.
[[nodiscard]] LayerInputs inputs_of(const Call& call);

[[nodiscard]] Status forward(const Layer& layer, const Call& call, const AttentionOutputs& outputs, int threads = 1);

/// Asks for Y alone.
[[nodiscard]] AttentionOutputs into(Floats& y);

/// Y; fails the running test if the call is refused.
[[nodiscard]] Floats output_of(const Layer& layer, const Call& call, int threads = 1);

/// The code of a call that must not touch Y.
[[nodiscard]] StatusCode forward_error(const Layer& layer, const Call& call);

[[nodiscard]] std::unique_ptr<KvCache> cache_for(const Model& m, std::int64_t batch_size, std::int64_t window = 0);

}  // namespace headwise::layers
