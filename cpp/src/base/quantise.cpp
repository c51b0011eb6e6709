#include "base/quantise.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/finite.h"

namespace headwise {

namespace {

// The magnitudes of floats have the order of their bits, and infinity and NaNs are the largest. One maximum thus finds
// the largest magnitude and whether all numbers are finite.
std::uint32_t largest_magnitude(const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu);
  return largest;
}

// 127 times this number is finite. 127 times the float nearest to kLargest / 127 is not.
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kLargestScale = kLargest / 127.0f * (1.0f - std::numeric_limits<float>::epsilon());

// Adding 1.5 * 2^23 leaves no bits for a fraction: the sum is rounded to the nearest integer, ties to even.
float round_to_integer(float x) { return (x + 12582912.0f) - 12582912.0f; }

}  // namespace

void quantise_row(const float* x, std::int64_t count, std::int8_t* q, float* scale) {
  const float largest = std::bit_cast<float>(largest_magnitude(x, count));
  *scale = largest <= kLargest ? std::min(largest / 127.0f, kLargestScale) : std::numeric_limits<float>::quiet_NaN();
  if (!(*scale > 0.0f)) {
    std::fill(q, q + count, static_cast<std::int8_t>(0));
    return;
  }
  // A subnormal scale may have been rounded down far. Quotients then exceed 127.
  for (std::int64_t i = 0; i < count; ++i)
    q[i] = static_cast<std::int8_t>(std::clamp(round_to_integer(x[i] / *scale), -127.0f, 127.0f));
}

void quantise_blocks(const float* x, std::int64_t count, std::int8_t* q, float* scales) {
  if (!all_finite(x, count)) {
    std::fill_n(q, count, static_cast<std::int8_t>(0));
    std::fill_n(scales, scales_of(count), std::numeric_limits<float>::quiet_NaN());
    return;
  }
  for (std::int64_t first = 0; first < count; first += kScaleBlock, ++scales)
    quantise_row(x + first, std::min(kScaleBlock, count - first), q + first, scales);
}

}  // namespace headwise
