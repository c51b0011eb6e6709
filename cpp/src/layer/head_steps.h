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
};

}  // namespace headwise
