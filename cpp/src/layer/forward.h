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

/// One forward call: what it was given, where its arrays lie, and how its steps read them. With `saves` it stays as
/// what the gradient needs. The steps are the functions below.
struct Forward {
  Forward(const Layer::Packed& packed, ThreadPool& threads, const LayerInputs& given, const AttentionInputs& masks,
          const AttentionOptions& attention, const AttentionOutputs& wanted, const LayerViews& shown, bool is_saved);
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  const Layer::Packed& layer;
  ThreadPool& pool;
  LayerInputs inputs;
  AttentionInputs attention_inputs;
  AttentionOptions options;
  AttentionOutputs outputs;
  LayerViews views;
  AttentionShape shape;
  Layout heads_layout;
  std::int64_t key_length;
  CacheGrowth growth;  ///< of the cache by this call
  bool saves;
  Formula score, visible;  ///< options point here, since the call's own may end with it

  Buffer<float> scratch;  ///< of projections
  Arrays arrays;          ///< those that follow
  std::span<float> query, key, value, heads;
  std::span<float> chosen_heads;                           ///< the rows of heads whose contributions are wanted
  std::span<float> raw_query, raw_key;                     ///< before norm and rotary embedding, if they are saved
  std::span<float> lse;                                    ///< if it is saved
  std::span<std::int64_t> query_positions, key_positions;  ///< [planes, B * S]
  std::span<Sequence> sequences;

  PositionRows query_position_rows;  ///< what is added to X, or the angles of queries
  PositionRows key_position_rows;    ///< the angles of keys
  RotaryAngles own_angles;           ///< if they depend on the length of the call
  KeptRows own_rows;                 ///< of them
  KvCache* ring = nullptr;           ///< the caller's cache, if the call works on a widened one
  std::unique_ptr<KvCache> wide;     ///< that one

  [[nodiscard]] bool appends() const { return inputs.cache && !inputs.attend_only; }
  [[nodiscard]] bool projects_keys() const { return !inputs.attend_only; }
  [[nodiscard]] bool turned_by_cache() const { return inputs.cache && inputs.cache->shape().rotary; }
  /// Whether the layer turns queries and keys. A ring with cache_positions turns them by their places, in the layer's
  /// stead.
  [[nodiscard]] bool turns() const { return layer.is_rotary() && !turned_by_cache(); }
  [[nodiscard]] bool adds_positions() const {
    return layer.options.position == LayerPosition::table || layer.options.position == LayerPosition::sinusoidal;
  }
  /// Whether heads must lie in a buffer before they are Y.
  [[nodiscard]] bool keeps_heads() const {
    return saves || views.head_outputs.data || views.contributions.data || inputs.patches.head_outputs.given() ||
           (layer.shape.output_projection && outputs.output.data);
  }
  [[nodiscard]] bool keeps_raw_heads() const { return saves && layer.options.qk_norm != QkNorm::none; }
  /// What lies inside is in the late part of a wasm module, so it is entered only if a call asks for it.
  [[nodiscard]] bool overwrites() const {
    const LayerPatches& patches = inputs.patches;
    return patches.query.given() || patches.key.given() || patches.value.given() || patches.head_outputs.given();
  }
  [[nodiscard]] bool shows() const {
    return views.query.data || views.key.data || views.value.data || views.head_outputs.data ||
           views.contributions.data;
  }

  /// Where the tokens stand that give keys, if the caller says it.
  [[nodiscard]] const std::int32_t* given_key_positions() const {
    return inputs.key_context.data ? inputs.key_positions : inputs.positions.data;
  }
  /// What the cache gains.
  [[nodiscard]] NewTokens new_tokens() const {
    return {heads_layout,
            key_length,
            {key.data(), Dtype::float32},
            {value.data(), Dtype::float32},
            growth.gains,
            turned_by_cache() ? given_key_positions() : nullptr,
            inputs.positions.planes};
  }
  [[nodiscard]] HeadSteps query_steps() const { return head_steps(layer.query_gain.data(), query_position_rows); }
  [[nodiscard]] HeadSteps key_steps() const { return head_steps(layer.key_gain.data(), key_position_rows); }

  [[nodiscard]] ConstTokenRows context(ConstArray array, std::int64_t length, std::int64_t width) const {
    return {array, strides_of(inputs.layout, 1, length, width), inputs.batch_size, length};
  }
  /// X, to which its positions will be added.
  [[nodiscard]] ConstTokenRows x() const {
    ConstTokenRows rows = context(inputs.x, inputs.query_length, layer.shape.input_dim);
    if (adds_positions()) rows.added = query_position_rows.at.data();
    return rows;
  }
  /// What keys and values are projected from.
  [[nodiscard]] ConstTokenRows key_tokens() const {
    return inputs.key_context.data ? context(inputs.key_context, key_length, layer.shape.key_input_dim) : x();
  }
  [[nodiscard]] ConstTokenRows value_tokens() const {
    return inputs.value_context.data ? context(inputs.value_context, key_length, layer.shape.value_input_dim)
                                     : key_tokens();
  }
  /// Y.
  [[nodiscard]] TokenRows output() const {
    const std::int64_t length = inputs.query_length;
    return {outputs.output, strides_of(inputs.layout, 1, length, layer.shape.output_dim), inputs.batch_size, length};
  }
  /// Projected rows, with heads packed in the last axis.
  [[nodiscard]] TokenRows rows(float* data, std::int64_t length, std::int64_t width) const {
    return {{data, Dtype::float32}, strides_of(heads_layout, 1, length, width), inputs.batch_size, length};
  }

  [[nodiscard]] std::int64_t saved_bytes() const;

 private:
  [[nodiscard]] HeadSteps head_steps(const float* gain, const PositionRows& angle_rows) const;
};

/// forward.cpp: the steps in their order, and memory; from X to queries, keys and values in one parallel region; what a
/// cache gains, and undoing it; attention; from heads to Y in another region.
[[nodiscard]] Error run(Forward& f);

/// forward_rules.cpp: what is refused. The first two are the steps of validate(), for the call as it will be when the
/// cache holds the new keys, with the layer's own rules between them; a ring is widened between the two. The third asks
/// what only the places of tokens tell. No later step checks again.
[[nodiscard]] Error check_arguments(const Forward& f);
[[nodiscard]] Error check_call(const Forward& f);
[[nodiscard]] Error check_places(const Forward& f);

/// forward_positions.cpp: where tokens stand after the keys have been appended, and the rows that depend on it.
void resolve_places(Forward& f);
[[nodiscard]] Error find_position_rows(Forward& f);

/// forward_inside.cpp: what a call overwrites and shows of queries, keys, values and heads.
[[nodiscard]] std::int64_t contribution_rows(const Forward& f);
void overwrite_inputs(Forward& f);
void overwrite_heads(Forward& f);
void show_inside(Forward& f);

}  // namespace headwise
