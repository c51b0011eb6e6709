#pragma once

#include <cstdint>

namespace headwise {

/// Symmetric int8: q_i = round(x_i / scale) with scale = max|x| / 127. q_i * scale is off by at most (1/2 + 2^-17) *
/// scale: the quotient is rounded too. A row with a NaN or an infinity has q = 0 and scale NaN. Every element of it is
/// read back as NaN.
void quantise_row(const float* x, std::int64_t count, std::int8_t* q, float* scale);

}  // namespace headwise
