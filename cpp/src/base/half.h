#pragma once

#include <bit>
#include <cstdint>

namespace headwise {

// IEEE 754 binary16 as its 16 bits. Select instead of branch, so that loops over these become vector code. Always
// inlined: files compiled for different machines must not share a copy.

/// Exact. Signalling NaNs keep their bits.
inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(half & 0x7fffu) << 13;
  // The exponent's bias grows by 127 - 15. A product rather than a sum, so that subnormals come out right as well.
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const std::uint32_t exponent = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;  // of infinities and NaNs
  return std::bit_cast<float>(sign | exponent | finite);
}

/// Nearest, ties to even; beyond 65504 + half a step infinity. NaNs become quiet and keep their leading payload bits.
[[gnu::always_inline]] inline std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // The carry of the rounding may run into the exponent, up to infinity: that is the right neighbour.
  const std::uint32_t normal = (magnitude - (112u << 23) + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
  // 0.5 has the step of half's subnormals in its last bit, so that the addition rounds.
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

}  // namespace headwise
