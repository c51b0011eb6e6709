#pragma once

// The only file that knows instruction sets: what xsimd's architectures lack is added here.

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

/// A vector of narrow integers as int32.
template <class Arch, class T>
inline Integers<Arch> load_extended(const T* x) {
#if defined(__wasm__)
  const v128_t pairs =
      sizeof(T) == 2 ? wasm_v128_load64_zero(x) : wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(x));
  return Integers<Arch>(wasm_i32x4_extend_low_i16x8(pairs));
#else
  std::int32_t extended[Integers<Arch>::size];
  for (std::size_t i = 0; i < Integers<Arch>::size; ++i) extended[i] = x[i];
  return Integers<Arch>::load_unaligned(extended);
#endif
}

/// a * b + c, in one rounding where the instruction set has it, else in two. Which of the two is fixed per build.
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

/// Equal floats for a loop, from memory where that is better than from a constant: V8 since version 12 or so makes a
/// constant anew at every use, in three instructions.
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
