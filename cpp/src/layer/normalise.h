#pragma once

#include <cstdint>

#include "headwise/layer.h"

namespace headwise {

/// Scales one head's vector to unit mean square (rms) or to unit length (l2), then multiplies it by the gain, if there
/// is one.
void normalise(float* head, std::int64_t stride, std::int64_t head_dim, QkNorm kind, float epsilon, const float* gain);

}  // namespace headwise
