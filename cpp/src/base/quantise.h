#pragma once

#include <cstdint>

namespace headwise {

/// Neighbouring numbers of a cached int8 row that share a scale. The last scale of a row may have fewer.
inline constexpr std::int64_t kScaleBlock = 32;
[[nodiscard]] constexpr std::int64_t scales_of(std::int64_t width) { return (width + kScaleBlock - 1) / kScaleBlock; }

/// Symmetric int8: q_i = round(x_i / scale) with scale = max|x| / 127. q_i * scale is off by at most (1/2 + 2^-17) *
/// scale: the quotient is rounded too. A row with a NaN or an infinity has q = 0 and scale NaN. Every element of it is
/// read back as NaN.
void quantise_row(const float* x, std::int64_t count, std::int8_t* q, float* scale);

/// The same by blocks of kScaleBlock numbers: `scales` has scales_of(count) of them. A row with a NaN or an infinity
/// has q = 0 and scale NaN in every block.
void quantise_blocks(const float* x, std::int64_t count, std::int8_t* q, float* scales);

}  // namespace headwise
