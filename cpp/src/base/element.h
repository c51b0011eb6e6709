#pragma once

#include <cstdint>

#include "base/half.h"

namespace headwise {

/// One float32 or float16 element, read and written as float.
inline float load_element(const float* x) { return *x; }
inline float load_element(const std::uint16_t* x) { return half_to_float(*x); }
inline void store_element(float* y, float value) { *y = value; }
inline void store_element(std::uint16_t* y, float value) { *y = float_to_half(value); }

}  // namespace headwise
