#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace headwise {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Whether no value is NaN or infinite.
[[nodiscard]] inline bool all_finite(const float* values, std::int64_t count) {
  constexpr std::uint32_t kExponent = 0x7f800000u;
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found |= (std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent;
  return found == 0;
}

// IEEE 754 binary16 numbers as their 16 bits. The functions select instead of branching, so that compilers turn loops
// over them into vector code. They are always inlined: files that are compiled for different machines must not share a
// copy.

/// Exact. Signalling NaNs keep their bits.
inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(half & 0x7fffu) << 13;
  // The bias of the exponent grows by 127 - 15. A product does that, not a sum, so that subnormals are right too.
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const std::uint32_t exponent = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;  // of infinities and NaNs
  return std::bit_cast<float>(sign | exponent | finite);
}

/// Rounds to nearest, ties to even. Numbers beyond 65504 plus half a step become infinity. NaNs become quiet and keep
/// their leading payload bits.
[[gnu::always_inline]] inline std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // The carry of the rounding may reach the exponent, up to infinity. That is the right neighbour.
  const std::uint32_t normal = (magnitude - (112u << 23) + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
  // The last bit of 0.5 is one step of float16's subnormals, so the addition rounds to them.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x03ffu);
  std::uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x47800000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? nan : half;
  return static_cast<std::uint16_t>(sign | half);
}

/// floats[i] = halves[i]
void halves_to_floats(const std::uint16_t* halves, std::int64_t count, float* floats);

/// halves[i] = floats[i], rounded
void floats_to_halves(const float* floats, std::int64_t count, std::uint16_t* halves);

/// A bfloat16 number: the upper half of a float32.
struct Bfloat16 {
  std::uint16_t bits;
};

/// Exact.
inline float bfloat_to_float(Bfloat16 number) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number.bits) << 16);
}

/// Rounds to nearest, ties to even; numbers beyond the largest one become infinity. NaNs become quiet and keep their
/// leading payload bits.
[[gnu::always_inline]] inline Bfloat16 float_to_bfloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  // The carry of the rounding may reach the exponent, up to infinity. That is the right neighbour.
  const std::uint32_t rounded = is_nan ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<std::uint16_t>(rounded >> 16)};
}

/// bfloats[i] = floats[i], rounded
void floats_to_bfloats(const float* floats, std::int64_t count, Bfloat16* bfloats);

/// One float32 or float16 element, read and written as float.
inline float load_element(const float* x) { return *x; }
inline float load_element(const std::uint16_t* x) { return half_to_float(*x); }
inline void store_element(float* y, float value) { *y = value; }
inline void store_element(std::uint16_t* y, float value) { *y = float_to_half(value); }

/// Neighbouring numbers of a cached int8 row that share a scale. The last scale of a row may have fewer.
inline constexpr std::int64_t kScaleBlock = 32;
[[nodiscard]] constexpr std::int64_t scales_of(std::int64_t width) { return (width + kScaleBlock - 1) / kScaleBlock; }

/// Symmetric int8: q_i = round(x_i / scale) with scale = max|x| / 127. q_i * scale is off by at most (1/2 + 2^-17) *
/// scale, since the quotient is rounded too, or by 2^-142 if that is more: a subnormal scale is rounded far. A row with
/// a NaN or an infinity has q = 0 and scale NaN. Every element of it is read back as NaN.
void quantise_row(const float* x, std::int64_t count, std::int8_t* q, float* scale);

/// The same by blocks of kScaleBlock numbers: `scales` has scales_of(count) of them. A row with a NaN or an infinity
/// has q = 0 and scale NaN in every block.
void quantise_blocks(const float* x, std::int64_t count, std::int8_t* q, float* scales);

/// Elements that share a unit.
constexpr std::int64_t kFixedBlock = 128;
/// The value of 1 in a low part, in units.
constexpr float kFixedLow = 0x1p-15f;

/// A row of floats as whole numbers: element i is (high[i] + low[i] * kFixedLow) * units[i / kFixedBlock]. It differs
/// from the float by at most 2^-29 of the largest magnitude of its block, and by at most 2^-142 if that is more.
/// Infinities and NaNs are 0 here. No |high| or |low| is above 2^14, so sums of a block's products with int8 are at
/// most 2^28.
struct FixedPoint {
  std::int64_t count = 0;
  const std::int16_t *high = nullptr, *low = nullptr;
  const float* units = nullptr;
  bool is_finite = true;  ///< whether the row had neither infinities nor NaNs
};

/// Floats of memory that a row of `count` elements needs.
[[nodiscard]] std::int64_t fixed_point_floats(std::int64_t count);

/// Makes the whole numbers in `room`.
[[nodiscard]] FixedPoint to_fixed_point(const float* x, std::int64_t count, float* room);

}  // namespace headwise
