#pragma once

#include <cstdint>

#include "headwise/array.h"

namespace headwise {

/// Elements from one index to the next along each axis of a [B, H, S, D] view.
struct Strides {
  std::int64_t batch, head, position, feature;
};

/// The strides of an array of `heads` heads, `length` positions and `width` features a head.
[[nodiscard]] Strides strides_of(Layout layout, std::int64_t heads, std::int64_t length, std::int64_t width);

}  // namespace headwise
