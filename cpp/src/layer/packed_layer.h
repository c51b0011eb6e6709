#pragma once

#include <cstdint>

#include "base/workspace.h"
#include "headwise/layer.h"
#include "layer/projection.h"

namespace headwise {

/// A layer as its calls read it.
struct Layer::Packed {
  LayerShape shape;
  LayerOptions options;  ///< its pointers are not read: the arrays have been copied to the buffers below
  Projection query, key, value, output;
  Buffer<float> query_gain, key_gain, position_table;

  [[nodiscard]] std::int64_t query_width() const { return shape.num_heads * shape.head_dim; }
  [[nodiscard]] std::int64_t key_width() const { return shape.num_kv_heads * shape.head_dim; }
  [[nodiscard]] std::int64_t value_width() const { return shape.num_kv_heads * shape.value_head_dim; }
  [[nodiscard]] std::int64_t heads_width() const { return shape.num_heads * shape.value_head_dim; }
};

}  // namespace headwise
