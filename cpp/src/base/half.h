#pragma once

#include <bit>
#include <cstdint>

namespace headwise {

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

}  // namespace headwise
