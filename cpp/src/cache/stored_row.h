#pragma once

#include <cstdint>

#include "headwise/array.h"

namespace headwise {

/// Stores one float32 row as `dtype`. int8 also writes the scale.
void store_row(const float* row, std::int64_t width, Dtype dtype, std::uint8_t* to, float* scale);

/// Reads a stored row as float32. int8 also reads the scale.
void load_row(const std::uint8_t* from, const float* scale, std::int64_t width, Dtype dtype, float* row);

}  // namespace headwise
