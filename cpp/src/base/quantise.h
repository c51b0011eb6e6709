#pragma once

#include <cstdint>

namespace headwise {

/// Symmetric int8: q_i = round(x_i / scale), scale = max|x| / 127, so that x_i is q_i * scale up to scale / 2.
/// A row with a NaN or an infinity gets scale NaN (and q = 0): it reads back as NaN throughout.
void quantise_row(const float* x, std::int64_t count, std::int8_t* q, float* scale);

}  // namespace headwise
