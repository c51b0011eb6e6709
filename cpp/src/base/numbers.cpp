#include "base/numbers.h"

#include <algorithm>

#include "base/memory.h"

namespace headwise {

namespace {

constexpr std::uint32_t kInfiniteMagnitude = 0x7f800000u;

std::uint32_t magnitude(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu; }

// The magnitudes of floats have the order of their bits, and infinity and NaNs are the largest. One maximum thus finds
// the largest magnitude and whether all numbers are finite.
std::uint32_t largest_magnitude(const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, magnitude(x[i]));
  return largest;
}

}  // namespace

void halves_to_floats(const std::uint16_t* halves, std::int64_t count, float* floats) {
  for (std::int64_t i = 0; i < count; ++i) floats[i] = half_to_float(halves[i]);
}

void floats_to_bfloats(const float* floats, std::int64_t count, Bfloat16* bfloats) {
  for (std::int64_t i = 0; i < count; ++i) bfloats[i] = float_to_bfloat(floats[i]);
}

void floats_to_halves(const float* floats, std::int64_t count, std::uint16_t* halves) {
  for (std::int64_t i = 0; i < count; ++i) halves[i] = float_to_half(floats[i]);
}

namespace {

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

namespace {

// Added to a float below 2^22 it leaves the nearest whole number, in two's complement, in the lower bits.
constexpr float kRounder = 0x1.8p23f;

/// The bits of the largest magnitude among the numbers that are finite.
std::uint32_t largest_finite(const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, magnitude(x[i]) < kInfiniteMagnitude ? magnitude(x[i]) : 0);
  return largest;
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
  return {count, high, low, units, largest_magnitude(x, count) < kInfiniteMagnitude};
}

}  // namespace headwise
