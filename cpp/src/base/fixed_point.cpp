#include "base/fixed_point.h"

#include <algorithm>
#include <bit>

#include "base/sizes.h"

namespace headwise {

namespace {

constexpr std::uint32_t kMagnitude = 0x7fffffffu, kInfiniteMagnitude = 0x7f800000u;
// Added to a float below 2^22 it leaves the nearest whole number, in two's complement, in the lower bits.
constexpr float kRounder = 0x1.8p23f;

std::uint32_t magnitude(float x) { return std::bit_cast<std::uint32_t>(x) & kMagnitude; }

/// The bits of the largest magnitude among the numbers that are finite.
std::uint32_t largest_finite(const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, magnitude(x[i]) < kInfiniteMagnitude ? magnitude(x[i]) : 0);
  return largest;
}

bool all_below_infinity(const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, magnitude(x[i]));
  return largest < kInfiniteMagnitude;
}

/// A power of two from its exponent, -126 to 127.
float power_of_two(int exponent) { return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23); }

/// Writes a block's whole numbers and returns its unit.
float fix_block(const float* x, std::int64_t count, std::int16_t* high, std::int16_t* low) {
  // the exponent of the largest: below 2^(exponent + 1)
  const int exponent = static_cast<int>(largest_finite(x, count) >> 23) - 127;
  const int shift = std::min(13 - exponent, 126);
  const float factor = power_of_two(shift);
  for (std::int64_t i = 0; i < count; ++i) {
    const float scaled = magnitude(x[i]) < kInfiniteMagnitude ? x[i] * factor : 0.0f;
    const float rounded = scaled + kRounder;
    const float rest = (scaled - (rounded - kRounder)) / kFixedLow + kRounder;
    high[i] = static_cast<std::int16_t>(std::bit_cast<std::int32_t>(rounded));
    low[i] = static_cast<std::int16_t>(std::bit_cast<std::int32_t>(rest));
  }
  return power_of_two(-shift);
}

}  // namespace

std::int64_t fixed_point_floats(std::int64_t count) { return count + divide_up(count, kFixedBlock); }

FixedPoint to_fixed_point(const float* x, std::int64_t count, float* room) {
  auto* const high = reinterpret_cast<std::int16_t*>(room);
  std::int16_t* const low = high + count;
  float* const units = room + count;
  for (std::int64_t first = 0; first < count; first += kFixedBlock)
    units[first / kFixedBlock] = fix_block(x + first, std::min(kFixedBlock, count - first), high + first, low + first);
  return {count, high, low, units, all_below_infinity(x, count)};
}

}  // namespace headwise
