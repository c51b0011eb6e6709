#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "attention/call.h"
#include "attention/head_rows.h"
#include "attention/validate.h"
#include "base/memory.h"
#include "base/rules.h"
#include "base/strides.h"
#include "headwise/kv_cache.h"
#include "headwise/layer.h"
#include "headwise/thread_pool.h"
#include "layer/projection.h"
#include "position/kept_rows.h"
#include "position/position_tables.h"
#include "position/rotary.h"

namespace headwise {

/// A layer as its calls read it.
struct Layer::Packed {
  LayerShape shape;
  LayerOptions options;  ///< its pointers are not read: the arrays have been copied to the buffers below. Those of
                         ///< options.rotary point to the copies
  Projection query, key, value, output;
  Buffer<float> query_gain, key_gain, position_table;
  Sinusoids sinusoids;
  RotaryArrays rotary_arrays;
  RotaryAngles angles;  ///< unless they depend on the length of the call
  /// Of the sinusoids, or of the angles. Calls add rows to it; it locks itself.
  mutable KeptRows position_rows;

  [[nodiscard]] std::int64_t query_width() const { return shape.num_heads * shape.head_dim; }
  [[nodiscard]] std::int64_t key_width() const { return shape.num_kv_heads * shape.head_dim; }
  [[nodiscard]] std::int64_t value_width() const { return shape.num_kv_heads * shape.value_head_dim; }
  [[nodiscard]] std::int64_t heads_width() const { return shape.num_heads * shape.value_head_dim; }

  /// Of a rotary layer: the floats of a row of angles.
  [[nodiscard]] std::int64_t position_rows_width() const { return rotary_dim_of(options.rotary, shape.head_dim); }

  [[nodiscard]] bool is_rotary() const { return options.position == LayerPosition::rotary; }
  /// Whether the angles depend on the length of the call.
  [[nodiscard]] bool angles_grow() const {
    const RotaryScaling scaling = options.rotary.scaling;
    return is_rotary() && options.rotary.sequence_length == 0.0 &&
           (scaling == RotaryScaling::dynamic_ntk || scaling == RotaryScaling::longrope);
  }
};

/// One forward call. With `saves` it stays as what the gradient needs. Each subject has a file:
/// - forward.cpp: the order of the steps and memory; from X to queries, keys and values in one parallel region; what a
/// cache gains, and undoing it; attention; from heads to Y in another region;
/// - forward_rules.cpp: what is refused;
/// - forward_positions.cpp: where tokens stand, and the rows that depend on it;
/// - forward_inside.cpp: what a call overwrites and shows of queries, keys, values and heads.
class Forward {
 public:
  Forward(const Layer::Packed& layer, ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
          const AttentionOptions& options, const AttentionOutputs& outputs, const LayerViews& views, bool saves);
  [[nodiscard]] Error run();
  [[nodiscard]] std::int64_t saved_bytes() const;
  [[nodiscard]] const Layer::Packed& layer() const { return layer_; }

 private:
  friend class LayerBackward;
  [[nodiscard]] Error check_arguments() const;
  [[nodiscard]] Error check_call() const;
  [[nodiscard]] Error check_inputs() const;
  [[nodiscard]] Error check_cache() const;
  [[nodiscard]] Error check_inside() const;
  [[nodiscard]] Error check_positions() const;
  [[nodiscard]] Error check_turned_positions() const;
  [[nodiscard]] Error check_given_positions() const;
  [[nodiscard]] Error check_rows(std::span<const std::int64_t> positions, std::int64_t first, std::int64_t count) const;
  [[nodiscard]] Error check_room() const;
  [[nodiscard]] Error allocate();
  void resolve_positions();
  void resolve_key_positions();
  void take_given_positions();
  [[nodiscard]] Error splice_sections(PositionRows* rows) const;
  [[nodiscard]] Error find_position_rows();
  [[nodiscard]] Error find_table_rows();
  [[nodiscard]] Error find_angles(KeptRows& kept);
  [[nodiscard]] RotaryOptions rotary_now() const;

  void project_inputs();
  void take_head_steps(const ConstTokenRows& raw, std::int64_t num_heads, const HeadSteps& steps,
                       const TokenRows& heads);
  /// What lies inside is in the late part of a wasm module, so it is entered only if a call asks for it.
  [[nodiscard]] bool overwrites() const {
    const LayerPatches& patches = inputs_.patches;
    return patches.query.given() || patches.key.given() || patches.value.given() || patches.head_outputs.given();
  }
  [[nodiscard]] bool shows() const {
    return views_.query.data || views_.key.data || views_.value.data || views_.head_outputs.data ||
           views_.contributions.data;
  }
  void overwrite_inputs();
  void overwrite_heads();
  void show_inside();
  void show_contributions();
  [[nodiscard]] HeadRows head_rows(std::span<float> array, std::int64_t heads, std::int64_t length, std::int64_t width,
                                   const std::int32_t* lengths) const;
  [[nodiscard]] HeadRows query_rows();
  [[nodiscard]] HeadRows output_rows();
  [[nodiscard]] std::int64_t chosen_rows(const Selection& selection) const;
  [[nodiscard]] Error attend();
  [[nodiscard]] Error widen_ring();
  [[nodiscard]] Error append();
  /// Where the tokens stand that give keys, if the caller says it.
  [[nodiscard]] const std::int32_t* given_key_positions() const {
    return inputs_.key_context.data ? inputs_.key_positions : inputs_.positions.data;
  }
  [[nodiscard]] NewTokens new_tokens() const {
    return {heads_layout_,
            key_length_,
            {key_.data(), Dtype::float32},
            {value_.data(), Dtype::float32},
            growth_.gains,
            inputs_.cache->shape().rotary ? given_key_positions() : nullptr,
            inputs_.positions.planes};
  }
  void undo_append();
  void project_output();
  void copy_heads_to_output();

  [[nodiscard]] bool turned_by_cache() const { return inputs_.cache && inputs_.cache->shape().rotary; }
  /// Whether the layer turns queries and keys. A ring with cache_positions turns them by their places, in the layer's
  /// stead.
  [[nodiscard]] bool turns() const { return layer_.is_rotary() && !turned_by_cache(); }
  [[nodiscard]] bool appends() const { return inputs_.cache && !inputs_.attend_only; }
  [[nodiscard]] bool projects_keys() const { return !inputs_.attend_only; }
  [[nodiscard]] bool adds_positions() const {
    return layer_.options.position == LayerPosition::table || layer_.options.position == LayerPosition::sinusoidal;
  }
  /// Whether heads must lie in a buffer before they are Y.
  [[nodiscard]] bool keeps_heads() const {
    return saves_ || views_.head_outputs.data || views_.contributions.data || inputs_.patches.head_outputs.given() ||
           (layer_.shape.output_projection && outputs_.output.data);
  }
  [[nodiscard]] bool keeps_raw_heads() const { return saves_ && layer_.options.qk_norm != QkNorm::none; }
  [[nodiscard]] ConstTokenRows context(ConstArray array, std::int64_t length, std::int64_t width) const {
    return {array, strides_of(inputs_.layout, 1, length, width), inputs_.batch_size, length};
  }
  /// X, to which its positions will be added.
  [[nodiscard]] ConstTokenRows x() const {
    ConstTokenRows rows = context(inputs_.x, inputs_.query_length, layer_.shape.input_dim);
    if (adds_positions()) rows.added = query_rows_.at.data();
    return rows;
  }
  /// What keys and values are projected from.
  [[nodiscard]] ConstTokenRows key_tokens() const {
    return inputs_.key_context.data ? context(inputs_.key_context, key_length_, layer_.shape.key_input_dim) : x();
  }
  [[nodiscard]] ConstTokenRows value_tokens() const {
    return inputs_.value_context.data ? context(inputs_.value_context, key_length_, layer_.shape.value_input_dim)
                                      : key_tokens();
  }
  [[nodiscard]] HeadSteps query_steps() const { return head_steps(layer_.query_gain.data(), query_rows_); }
  [[nodiscard]] HeadSteps key_steps() const { return head_steps(layer_.key_gain.data(), key_rows_); }
  [[nodiscard]] HeadSteps head_steps(const float* gain, const PositionRows& angle_rows) const;
  /// Y.
  [[nodiscard]] TokenRows output() const {
    const std::int64_t length = inputs_.query_length;
    return {outputs_.output, strides_of(inputs_.layout, 1, length, layer_.shape.output_dim), inputs_.batch_size,
            length};
  }
  /// Projected rows, with heads packed in the last axis.
  [[nodiscard]] TokenRows rows(float* data, std::int64_t length, std::int64_t width) const {
    return {{data, Dtype::float32}, strides_of(heads_layout_, 1, length, width), inputs_.batch_size, length};
  }

  const Layer::Packed& layer_;
  ThreadPool& pool_;
  LayerInputs inputs_;
  AttentionInputs attention_inputs_;
  AttentionOptions options_;
  AttentionOutputs outputs_;
  LayerViews views_;
  AttentionShape shape_;
  Layout heads_layout_;
  std::int64_t key_length_;
  CacheGrowth growth_;  ///< of the cache by this call
  bool saves_;
  Formula score_, visible_;  ///< options_ point here, since the call's own may end with it

  Buffer<float> scratch_;  ///< of projections
  Arrays arrays_;          ///< those that follow
  std::span<float> query_, key_, value_, heads_;
  std::span<float> chosen_heads_;                            ///< the rows of heads whose contributions are wanted
  std::span<float> raw_query_, raw_key_;                     ///< before norm and rotary embedding, if they are saved
  std::span<float> lse_;                                     ///< if it is saved
  std::span<std::int64_t> query_positions_, key_positions_;  ///< [planes, B * S]
  std::span<Sequence> sequences_;
  std::span<std::int32_t> lengths_before_;

  PositionRows query_rows_;        ///< what is added to X, or the angles of queries
  PositionRows key_rows_;          ///< the angles of keys
  RotaryAngles own_angles_;        ///< if they depend on the length of the call
  KeptRows own_rows_;              ///< of them
  KvCache* ring_ = nullptr;        ///< the caller's cache, if the call works on a widened one
  std::unique_ptr<KvCache> wide_;  ///< that one
};

}  // namespace headwise
