#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/validate.h"
#include "base/strides.h"
#include "base/workspace.h"
#include "headwise/layer.h"
#include "headwise/thread_pool.h"
#include "layer/packed_layer.h"
#include "layer/projection.h"

namespace headwise {

/// Whether a layer's angles depend on the length of the call.
[[nodiscard]] inline bool grows_with_length(const RotaryOptions& rotary) {
  return rotary.scaling == RotaryScaling::dynamic_ntk && rotary.sequence_length == 0.0;
}

/// One forward call. Each subject has a file:
/// - forward.cpp: the order of the steps, memory, attention;
/// - forward_rules.cpp: what is refused;
/// - forward_positions.cpp: where tokens stand, and what depends on it;
/// - forward_projections.cpp: from X to queries, keys and values, and from heads to Y;
/// - forward_cache.cpp: appending to a cache, and undoing it.
class Forward {
 public:
  Forward(const Layer::Packed& layer, ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
          const AttentionOptions& options, const AttentionOutputs& outputs);
  [[nodiscard]] Status run();

 private:
  [[nodiscard]] Status check() const;
  [[nodiscard]] Status check_inputs() const;
  [[nodiscard]] Status check_cache() const;
  [[nodiscard]] Status check_positions() const;
  [[nodiscard]] Status check_room() const;
  [[nodiscard]] Status allocate();
  void resolve_positions();
  [[nodiscard]] bool is_rotary() const { return layer_.options.position == LayerPosition::rotary; }
  [[nodiscard]] RotaryOptions rotary_now() const;

  void write_position(double position, float* row) const;
  void add_positions();
  template <class Element>
  void add_positions_to(const Element* x);
  void project_queries();
  void project_keys_and_values();
  void normalise_heads(float* x, std::int64_t length, std::int64_t num_heads, const float* gain);
  [[nodiscard]] Status turn_queries_and_keys();
  [[nodiscard]] Status turn_heads(Buffer<float>& x, std::int64_t num_heads, const RotaryOptions& rotary,
                                  const Buffer<double>& positions);
  [[nodiscard]] Status attend();
  [[nodiscard]] Status append();
  void undo_append();
  void project_output();

  [[nodiscard]] bool appends() const { return inputs_.cache && !inputs_.attend_only; }
  [[nodiscard]] bool projects_keys() const { return !inputs_.attend_only; }
  [[nodiscard]] bool adds_positions() const {
    return layer_.options.position == LayerPosition::table || layer_.options.position == LayerPosition::sinusoidal;
  }
  [[nodiscard]] ConstTokenRows context(ConstArray array, std::int64_t length, std::int64_t width) const {
    return {array, strides_of(inputs_.layout, 1, length, width), inputs_.batch_size, length};
  }
  /// X, with its positions added.
  [[nodiscard]] ConstTokenRows x() const {
    const std::int64_t width = layer_.shape.input_dim;
    if (!adds_positions()) return context(inputs_.x, inputs_.query_length, width);
    return {{placed_x_.data(), Dtype::float32},
            strides_of(Layout::bse, 1, inputs_.query_length, width),
            inputs_.batch_size,
            inputs_.query_length};
  }
  /// Projected rows, with heads packed in the last axis.
  [[nodiscard]] TokenRows rows(float* data, std::int64_t length, std::int64_t width) const {
    return {{data, Dtype::float32}, strides_of(heads_layout_, 1, length, width), inputs_.batch_size, length};
  }

  const Layer::Packed& layer_;
  ThreadPool& pool_;
  const LayerInputs& inputs_;
  AttentionInputs attention_inputs_;
  AttentionOptions options_;
  AttentionOutputs outputs_;
  AttentionShape shape_;
  Layout heads_layout_;
  std::int64_t key_length_;
  CacheGrowth growth_;  ///< of the cache by this call

  ProjectionScratch scratch_;
  Buffer<float> placed_x_, query_, key_, value_, heads_;
  Buffer<double> query_positions_, key_positions_;
  Buffer<Sequence> sequences_;
  Buffer<std::int32_t> lengths_before_;
};

}  // namespace headwise
