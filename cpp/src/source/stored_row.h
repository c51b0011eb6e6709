#pragma once

#include <cstdint>

#include "headwise/array.h"

namespace headwise {

/// Stores one float32 row as `dtype`. int8 also writes the scales of its blocks.
void store_row(const float* row, std::int64_t width, Dtype dtype, std::uint8_t* to, float* scales);

/// Reads a stored row as float32. int8 also reads the scales.
void load_row(const std::uint8_t* from, const float* scales, std::int64_t width, Dtype dtype, float* row);

/// row -= mean, and row += mean. A null mean is 0.
void subtract_mean(const float* mean, std::int64_t width, float* row);
void add_mean(const float* mean, std::int64_t width, float* row);

}  // namespace headwise
