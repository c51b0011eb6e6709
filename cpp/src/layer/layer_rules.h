#pragma once

#include "headwise/layer.h"

namespace headwise {

/// The rules of Layer::create.
[[nodiscard]] Status check_layer(const LayerShape& shape, const LayerWeights& weights, const LayerOptions& options);

}  // namespace headwise
