#pragma once

// The only file that knows instruction sets. It adds what xsimd's architectures lack.

#include <bit>
#include <xsimd/xsimd.hpp>

#include "base/numbers.h"

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

#if defined(__wasm__)
/// The float16 numbers of a vector as load_halves gives them.
template <class Arch, int Count>
inline void move_halves(v128_t halves, Floats<Arch> (&vectors)[Count]) {
  const v128_t exponent = wasm_i16x8_const_splat(0x7c00);
  const v128_t special = wasm_i16x8_eq(wasm_v128_and(halves, exponent), exponent);
  const v128_t finite = wasm_v128_and(wasm_i16x8_shr(halves, 3), wasm_u16x8_const_splat(0x8fff));
  const v128_t high = wasm_v128_or(finite, wasm_v128_and(special, wasm_i16x8_const_splat(0x7000)));
  const v128_t low = wasm_i16x8_shl(halves, 13);
  vectors[0] = Floats<Arch>(wasm_i16x8_shuffle(low, high, 0, 8, 1, 9, 2, 10, 3, 11));
  if constexpr (Count == 2) vectors[1] = Floats<Arch>(wasm_i16x8_shuffle(low, high, 4, 12, 5, 13, 6, 14, 7, 15));
}
#endif

/// Loads Count (1 or 2) vectors of float16, their bits moved to the places that float32 has for them. The result is
/// 2^-112 times the float16 number. Infinities and NaNs stay what they are.
template <class Arch, int Count>
inline void load_halves(const std::uint16_t* x, Floats<Arch> (&vectors)[Count]) {
#if defined(__wasm__)
  move_halves<Arch>(Count == 2 ? wasm_v128_load(x) : wasm_v128_load64_zero(x), vectors);
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

/// Loads Count (1 or 2) vectors of bfloat16, which are the upper halves of float32.
template <class Arch, int Count>
inline void load_halves(const Bfloat16* x, Floats<Arch> (&vectors)[Count]) {
#if defined(__wasm__)
  const v128_t halves = Count == 2 ? wasm_v128_load(x) : wasm_v128_load64_zero(x), zero = wasm_i16x8_const_splat(0);
  vectors[0] = Floats<Arch>(wasm_i16x8_shuffle(zero, halves, 0, 8, 1, 9, 2, 10, 3, 11));
  if constexpr (Count == 2) vectors[1] = Floats<Arch>(wasm_i16x8_shuffle(zero, halves, 4, 12, 5, 13, 6, 14, 7, 15));
#else
  constexpr std::size_t lanes = Floats<Arch>::size;
  std::int32_t bits[Count * lanes];
  for (std::size_t i = 0; i < Count * lanes; ++i) bits[i] = static_cast<std::int32_t>(std::uint32_t{x[i].bits} << 16);
  for (int v = 0; v < Count; ++v)
    vectors[v] = xsimd::bitwise_cast<float>(Integers<Arch>::load_unaligned(bits + v * lanes));
#endif
}

/// Columns that `load_columns` loads.
template <class Arch, class T>
#if defined(__wasm__)
constexpr int kColumnsAtATime = 16 / sizeof(T);
#else
constexpr int kColumnsAtATime = Floats<Arch>::size;
#endif

#if defined(__wasm__)

// 16 bytes of each row. Rows are transposed as they are stored: the fewer bytes a number has, the fewer shuffles that
// takes. `low_…` are the lanes of the lower halves of two vectors in turns, `high_…` those of the upper halves.
inline v128_t low_bytes(v128_t a, v128_t b) {
  return wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline v128_t high_bytes(v128_t a, v128_t b) {
  return wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
inline v128_t low_shorts(v128_t a, v128_t b) { return wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
inline v128_t high_shorts(v128_t a, v128_t b) { return wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
inline v128_t low_words(v128_t a, v128_t b) { return wasm_i32x4_shuffle(a, b, 0, 4, 1, 5); }
inline v128_t high_words(v128_t a, v128_t b) { return wasm_i32x4_shuffle(a, b, 2, 6, 3, 7); }

/// Widens float16 numbers that are finite, and finds out whether all were.
template <class Arch>
class FiniteHalves {
 public:
  /// The upper halves of words, as load_halves gives them.
  [[nodiscard]] Floats<Arch> upper(v128_t words) const {
    return Floats<Arch>(wasm_v128_and(wasm_i32x4_shr(words, 3), mask_));
  }
  void look(v128_t halves) { most_ = wasm_u16x8_max(most_, wasm_i16x8_shl(halves, 1)); }
  [[nodiscard]] bool all() const { return !wasm_v128_any_true(wasm_u16x8_ge(most_, wasm_u16x8_const_splat(0xf800))); }

 private:
  Floats<Arch> mask_ = held<Arch>(std::bit_cast<float>(0x8fffe000u));  ///< the sign, the last four bits of the exponent
  v128_t most_ = wasm_u16x8_const_splat(0);                            ///< the largest magnitudes, times 2
};

/// Loads columns of as many rows as a vector has lanes, from column `first` on: vector i has column i of all rows.
/// float16 numbers are as load_halves gives them.
template <class Arch>
inline void load_columns(const float* const* rows, std::ptrdiff_t first, Floats<Arch> (&columns)[4]) {
  for (int i = 0; i < 4; ++i) columns[i] = Floats<Arch>::load_unaligned(rows[i] + first);
  xsimd::transpose(columns, columns + 4);
}
template <class Arch>
inline void load_columns(const std::uint16_t* const* rows, std::ptrdiff_t first, Floats<Arch> (&columns)[8]) {
  v128_t row[4];
  for (int i = 0; i < 4; ++i) row[i] = wasm_v128_load(rows[i] + first);
  const v128_t a = low_shorts(row[0], row[1]), b = low_shorts(row[2], row[3]);
  const v128_t c = high_shorts(row[0], row[1]), d = high_shorts(row[2], row[3]);
  const v128_t pairs[] = {low_words(a, b), high_words(a, b), low_words(c, d), high_words(c, d)};
  for (int pair = 0; pair < 4; ++pair) {
    Floats<Arch> two[2];
    move_halves<Arch>(pairs[pair], two);
    for (int i = 0; i < 2; ++i) columns[2 * pair + i] = two[i];
  }
}
/// Transposes 8 columns of 16-bit numbers: words i have column 2 i in their lower halves and column 2 i + 1 above them.
template <class T>
inline void load_words(const T* const* rows, std::ptrdiff_t first, v128_t (&words)[4]) {
  v128_t row[4];
  for (int i = 0; i < 4; ++i) row[i] = wasm_v128_load(rows[i] + first);
  const v128_t a = low_words(row[0], row[1]), b = low_words(row[2], row[3]);
  const v128_t c = high_words(row[0], row[1]), d = high_words(row[2], row[3]);
  words[0] = wasm_i32x4_shuffle(a, b, 0, 1, 4, 5), words[1] = wasm_i32x4_shuffle(a, b, 2, 3, 6, 7);
  words[2] = wasm_i32x4_shuffle(c, d, 0, 1, 4, 5), words[3] = wasm_i32x4_shuffle(c, d, 2, 3, 6, 7);
}
template <class Arch>
inline void load_columns(const Bfloat16* const* rows, std::ptrdiff_t first, Floats<Arch> (&columns)[8]) {
  v128_t words[4];
  load_words(rows, first, words);
  for (int i = 0; i < 4; ++i) {
    columns[2 * i] = Floats<Arch>(wasm_i32x4_shl(words[i], 16));
    columns[2 * i + 1] = Floats<Arch>(wasm_v128_and(words[i], wasm_u32x4_const_splat(0xffff0000u)));
  }
}
/// Loads columns of float16 in fewer instructions. Those of infinities and NaNs are wrong; `finite` then tells it.
template <class Arch>
inline void load_finite_columns(const std::uint16_t* const* rows, std::ptrdiff_t first, Floats<Arch> (&columns)[8],
                                FiniteHalves<Arch>& finite) {
  v128_t words[4];
  load_words(rows, first, words);
  for (int i = 0; i < 4; ++i) {
    finite.look(words[i]);
    columns[2 * i] = finite.upper(wasm_i32x4_shl(words[i], 16));
    columns[2 * i + 1] = finite.upper(words[i]);
  }
}

#else

template <class Arch, class T, std::size_t lanes>
inline void load_columns(const T* const* rows, std::ptrdiff_t first, Floats<Arch> (&columns)[lanes]) {
  for (std::size_t i = 0; i < lanes; ++i) {
    const T* row = rows[i] + first;
    if constexpr (std::is_same_v<T, float>) {
      columns[i] = Floats<Arch>::load_unaligned(row);
    } else {
      Floats<Arch> numbers[1];
      load_halves<Arch>(row, numbers);
      columns[i] = numbers[0];
    }
  }
  xsimd::transpose(columns, columns + lanes);
}

template <class Arch>
struct FiniteHalves {
  [[nodiscard]] static bool all() { return true; }
};
template <class Arch, std::size_t lanes>
inline void load_finite_columns(const std::uint16_t* const* rows, std::ptrdiff_t first, Floats<Arch> (&columns)[lanes],
                                FiniteHalves<Arch>&) {
  load_columns<Arch>(rows, first, columns);
}

#endif

/// Outputs whose products `dot_bytes` sums at a time.
constexpr int kByteRows = 4;
/// It reads a multiple of so many inputs.
constexpr int kByteColumns = 8;

/// sums[s][o] = sum over i of factors[s][i] * rows[o][i]. The sums must fit int32; they are then exact.
#if defined(__wasm__)
inline v128_t sums_of_lanes(const v128_t (&v)[kByteRows]) {
  const v128_t a = wasm_i32x4_add(low_words(v[0], v[1]), high_words(v[0], v[1]));
  const v128_t b = wasm_i32x4_add(low_words(v[2], v[3]), high_words(v[2], v[3]));
  return wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 1, 4, 5), wasm_i32x4_shuffle(a, b, 2, 3, 6, 7));
}
inline void dot_bytes(const std::int16_t* const (&factors)[2], const std::int8_t* const (&rows)[kByteRows],
                      std::int64_t count, std::int32_t (&sums)[2][kByteRows]) {
  v128_t sum[2][kByteRows] = {};
  for (std::int64_t i = 0; i < count; i += kByteColumns) {
    const v128_t factor[] = {wasm_v128_load(factors[0] + i), wasm_v128_load(factors[1] + i)};
    for (int o = 0; o < kByteRows; ++o) {
      const v128_t row = wasm_i16x8_load8x8(rows[o] + i);
      for (int s = 0; s < 2; ++s) sum[s][o] = wasm_i32x4_add(sum[s][o], wasm_i32x4_dot_i16x8(factor[s], row));
    }
  }
  for (int s = 0; s < 2; ++s) wasm_v128_store(sums[s], sums_of_lanes(sum[s]));
}
#else
inline void dot_bytes(const std::int16_t* const (&factors)[2], const std::int8_t* const (&rows)[kByteRows],
                      std::int64_t count, std::int32_t (&sums)[2][kByteRows]) {
  for (int s = 0; s < 2; ++s)
    for (int o = 0; o < kByteRows; ++o) {
      std::int32_t sum = 0;
      for (std::int64_t i = 0; i < count; ++i) sum += std::int32_t{factors[s][i]} * rows[o][i];
      sums[s][o] = sum;
    }
}
#endif

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

}  // namespace headwise
