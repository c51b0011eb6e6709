#pragma once

#include <cstdint>

#include "base/memory.h"
#include "headwise/layer.h"
#include "layer/projection.h"
#include "position/kept_rows.h"
#include "position/rotary.h"
#include "position/sinusoids.h"

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

}  // namespace headwise
