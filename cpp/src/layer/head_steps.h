#pragma once

#include <cstdint>

#include "headwise/layer.h"
#include "position/rotary.h"

namespace headwise {

/// What is done to every head of a projection before it is stored: the norm, then the rotary embedding.
struct HeadSteps {
  std::int64_t head_dim = 0;
  QkNorm norm = QkNorm::none;
  float epsilon = 0.0f;
  const float* gain = nullptr;
  const RotaryAngles* angles = nullptr;      ///< null: nothing is turned
  const float* const* angle_rows = nullptr;  ///< [B * S], the row of each token's angles

  [[nodiscard]] bool any() const { return norm != QkNorm::none || angles; }
  /// Does them to one head of a token. Its features lie side by side.
  void apply(std::int64_t token, float* head) const;
  /// Takes the gradient of a head back to the gradient of `raw`, the head before the steps. `raw` is read if there is a
  /// norm. Adds the gradient of its gain to `gain_gradient` [head_dim]. A gradient of 0 stays 0 and adds nothing.
  void take_back(std::int64_t token, const float* raw, float* gradient, double* gain_gradient) const;
};

}  // namespace headwise
