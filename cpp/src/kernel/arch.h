#pragma once

// The only file that knows instruction sets. It adds what xsimd's architectures lack.

#include <xsimd/xsimd.hpp>

#if defined(__wasm__)
#include <wasm_simd128.h>
#endif

namespace headwise {

#if defined(__wasm_relaxed_simd__)
constexpr const char* kWasmVariant = "relaxed";
#else
constexpr const char* kWasmVariant = "simd";
#endif

template <class Arch>
using Floats = xsimd::batch<float, Arch>;

template <class Arch>
using Integers = xsimd::batch<std::int32_t, Arch>;

template <class Arch>
using Doubles = xsimd::batch<double, Arch>;

/// Floats as doubles: those of the lower lanes, then the others.
template <class Arch>
inline void to_doubles(Floats<Arch> x, Doubles<Arch> (&doubles)[2]) {
#if defined(__wasm__)
  doubles[0] = Doubles<Arch>(wasm_f64x2_promote_low_f32x4(x));
  doubles[1] = Doubles<Arch>(wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(x, x, 2, 3, 2, 3)));
#else
  constexpr std::size_t lanes = Floats<Arch>::size;
  float floats[lanes];
  double wide[lanes];
  x.store_unaligned(floats);
  for (std::size_t i = 0; i < lanes; ++i) wide[i] = floats[i];
  for (int v = 0; v < 2; ++v) doubles[v] = Doubles<Arch>::load_unaligned(wide + v * lanes / 2);
#endif
}

/// The reverse, rounded.
template <class Arch>
inline Floats<Arch> to_floats(const Doubles<Arch> (&doubles)[2]) {
#if defined(__wasm__)
  return Floats<Arch>(wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(doubles[0]),
                                         wasm_f32x4_demote_f64x2_zero(doubles[1]), 0, 1, 4, 5));
#else
  constexpr std::size_t lanes = Floats<Arch>::size;
  float floats[lanes];
  double wide[lanes];
  for (int v = 0; v < 2; ++v) doubles[v].store_unaligned(wide + v * lanes / 2);
  for (std::size_t i = 0; i < lanes; ++i) floats[i] = static_cast<float>(wide[i]);
  return Floats<Arch>::load_unaligned(floats);
#endif
}

/// Loads Count (1 or 2) vectors of int8 as int32.
template <class Arch, int Count>
inline void load_bytes(const std::int8_t* x, Integers<Arch> (&vectors)[Count]) {
#if defined(__wasm__)
  const v128_t pairs = wasm_i16x8_extend_low_i8x16(Count == 2 ? wasm_v128_load64_zero(x) : wasm_v128_load32_zero(x));
  vectors[0] = Integers<Arch>(wasm_i32x4_extend_low_i16x8(pairs));
  if constexpr (Count == 2) vectors[1] = Integers<Arch>(wasm_i32x4_extend_high_i16x8(pairs));
#else
  constexpr std::size_t lanes = Integers<Arch>::size;
  std::int32_t extended[Count * lanes];
  for (std::size_t i = 0; i < Count * lanes; ++i) extended[i] = x[i];
  for (int v = 0; v < Count; ++v) vectors[v] = Integers<Arch>::load_unaligned(extended + v * lanes);
#endif
}

/// Loads Count (1 or 2) vectors of float16, their bits moved to the places that float32 has for them. The result is
/// 2^-112 times the float16 number. Infinities and NaNs stay what they are.
template <class Arch, int Count>
inline void load_halves(const std::uint16_t* x, Floats<Arch> (&vectors)[Count]) {
#if defined(__wasm__)
  const v128_t halves = Count == 2 ? wasm_v128_load(x) : wasm_v128_load64_zero(x);
  const v128_t exponent = wasm_i16x8_const_splat(0x7c00);
  const v128_t special = wasm_i16x8_eq(wasm_v128_and(halves, exponent), exponent);
  const v128_t finite = wasm_v128_and(wasm_i16x8_shr(halves, 3), wasm_u16x8_const_splat(0x8fff));
  const v128_t high = wasm_v128_or(finite, wasm_v128_and(special, wasm_i16x8_const_splat(0x7000)));
  const v128_t low = wasm_i16x8_shl(halves, 13);
  vectors[0] = Floats<Arch>(wasm_i16x8_shuffle(low, high, 0, 8, 1, 9, 2, 10, 3, 11));
  if constexpr (Count == 2) vectors[1] = Floats<Arch>(wasm_i16x8_shuffle(low, high, 4, 12, 5, 13, 6, 14, 7, 15));
#else
  constexpr std::size_t lanes = Floats<Arch>::size;
  std::int32_t bits[Count * lanes];
  for (std::size_t i = 0; i < Count * lanes; ++i) {
    const std::uint32_t magnitude = x[i] & 0x7fffu, special = magnitude >= 0x7c00u ? 0x70000000u : 0u;
    bits[i] = static_cast<std::int32_t>((x[i] & 0x8000u) << 16 | magnitude << 13 | special);
  }
  for (int v = 0; v < Count; ++v)
    vectors[v] = xsimd::bitwise_cast<float>(Integers<Arch>::load_unaligned(bits + v * lanes));
#endif
}

/// a * b + c, with one rounding if the instruction set has such an instruction, else with two. It is fixed for a build.
template <class Arch>
inline Floats<Arch> multiply_add(Floats<Arch> a, Floats<Arch> b, Floats<Arch> c) {
#if defined(__wasm_relaxed_simd__)
  return Floats<Arch>(wasm_f32x4_relaxed_madd(a, b, c));
#else
  if constexpr (std::is_base_of_v<xsimd::avx2, Arch> || std::is_base_of_v<xsimd::avx512f, Arch>)
    return xsimd::fma(a, b, c);
  else
    return a * b + c;
#endif
}

/// A vector of equal floats that a loop uses. In wasm it is loaded from memory: V8 (version 12 and later, in Node 24)
/// builds a constant vector anew at every use, in three instructions.
template <class Arch>
inline Floats<Arch> held(float value) {
#if defined(__wasm__)
  volatile float memory = value;
  return Floats<Arch>(memory);
#else
  return Floats<Arch>(value);
#endif
}

}  // namespace headwise
